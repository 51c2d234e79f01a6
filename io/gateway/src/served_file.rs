//! The open file of a download as a source for the proxy.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

use weir_net::service::{FileSource, LocalFuture};
use weir_net::{PageBuffer, is_cached};
use weir_storage::{Closing, OpenFile, StorageError};

use crate::area::Area;

/// Bytes to prefetch after a piece that had to be read from disk, so that the next pieces are in the page
/// cache.
const AHEAD_BYTES: u64 = 4 * 1024 * 1024;

/// An open file that is being sent.
pub(crate) struct ServedFile {
    /// Declared before `closing`, so that `closing` drops the last reference.
    pub(crate) file: Arc<OpenFile>,
    area: Arc<Area>,
    _closing: Closing,
}

impl ServedFile {
    /// Wraps an open file of `area`.
    pub(crate) fn new(file: Arc<OpenFile>, area: &Arc<Area>) -> Self {
        let closing = Closing::new(Arc::clone(&file), Arc::clone(&area.tree), area.disk.clone());
        Self { file, area: Arc::clone(area), _closing: closing }
    }

    /// Refuses to start sending at offset `first` if the disk queue is full and the byte there is not in
    /// memory.
    pub(crate) fn admit(&self, first: u64) -> Result<(), StorageError> {
        match self.area.disk.admit() {
            Err(_) if self.file.read_now(first, &mut [0]).is_ok() => Ok(()),
            admitted => admitted,
        }
    }

    /// Returns true if this range can be sent without a disk read.
    fn has_in_cache(&self, offset: u64, length: u64) -> bool {
        match is_cached(self.file.as_fd(), offset, length) {
            // The kernel reads ahead in order. If the last page is cached, so are the pages before it.
            Some(true) => length == 0 || self.file.read_now(offset + length - 1, &mut [0]).is_ok(),
            Some(false) => false,
            None => self.file.is_resident(offset, length),
        }
    }
}

impl FileSource for ServedFile {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn is_resident(&self, offset: u64, length: u64, now: Instant) -> bool {
        let length = length.min(self.file.metadata().size.saturating_sub(offset));
        if self.file.is_in_memory() || self.file.was_resident(offset, length, now) {
            return true;
        }
        let is_resident = self.has_in_cache(offset, length);
        if is_resident {
            self.file.seen_resident(offset, length, now);
        }
        is_resident
    }

    fn read_now(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_now(offset, buffer).map_err(io_error)
    }

    fn read(&self, offset: u64, length: usize) -> LocalFuture<io::Result<PageBuffer>> {
        let file = Arc::clone(&self.file);
        // The response head is already sent. An admitted download waits, however busy the disk is.
        let reading = self.area.disk.run_on(move || {
            let mut bytes = PageBuffer::zeroed(length);
            let read = file.read(offset, &mut bytes)?;
            bytes.truncate(read);
            file.prefetch(offset.saturating_add(read as u64), AHEAD_BYTES);
            Ok(bytes)
        });
        Box::pin(async move { reading.await.map_err(io_error) })
    }
}

fn io_error(error: StorageError) -> io::Error {
    match error {
        StorageError::WouldBlock => io::ErrorKind::WouldBlock.into(),
        error => io::Error::other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::mpsc;
    use std::task::Poll;

    use weir_config::{Source, load};
    use weir_dav::path::{DavPath, PathLimits};
    use weir_storage::NodeId;

    use super::*;

    fn area(root: &std::path::Path) -> Arc<Area> {
        let text = format!(
            "[listener.web]\nbind = ':0'\nstorage = 'data'\n\
             [storage-area.data]\nroot = '{}'\nthreads = 1\nqueue = 1\n\
             [storage-area.data.access]\nanonymous-read = true\n",
            root.display()
        );
        let loaded = load(&[Source::new("test", text)], &|_| None).unwrap();
        let node = NodeId::new("test").unwrap();
        Arc::new(Area::open(&loaded.plan.storage_areas[0], (node, 1), None).unwrap())
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_download_under_way_waits_for_a_busy_disk() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a"), "content").unwrap();
        let area = area(directory.path());
        let path = DavPath::parse(b"/a", &PathLimits::default()).unwrap().path;
        let served = ServedFile::new(Arc::new(area.tree.open(&path).unwrap()), &area);
        let (go, wait) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        area.disk.always(move || {
            begun.send(()).unwrap();
            let _ = wait.recv();
        });
        begins.recv().unwrap();
        let queued = area.disk.run(|| Ok(()));
        assert_eq!(area.disk.admit(), Err(StorageError::Busy));
        let mut reading = pin!(served.read(3, 100));
        assert!(poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx).is_pending())).await);
        drop(go);
        assert_eq!(*reading.await.unwrap(), *b"tent");
        queued.await.unwrap();
    }
}
