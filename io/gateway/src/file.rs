use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use weir_net::service::{FileSource, LocalFuture};
use weir_storage::{Closing, OpenFile, StorageError};

use crate::area::Area;

/// What is read behind a piece that had to come from the disk, so that the next ones need not.
const AHEAD_BYTES: u64 = 4 * 1024 * 1024;

/// An open file that is being sent.
pub(crate) struct ServedFile {
    /// Before `closing`, which is to have the last hold of it.
    pub(crate) file: Arc<OpenFile>,
    area: Arc<Area>,
    /// Something of it was sent: the rest waits for the disk, however busy that is.
    is_under_way: Cell<bool>,
    _closing: Closing,
}

impl ServedFile {
    /// Of an area.
    pub(crate) fn new(file: OpenFile, area: &Arc<Area>) -> Self {
        let file = Arc::new(file);
        let closing = Closing::new(Arc::clone(&file), Arc::clone(&area.tree), area.disk.clone());
        Self { file, area: Arc::clone(area), is_under_way: Cell::new(false), _closing: closing }
    }
}

impl FileSource for ServedFile {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn is_resident(&self, offset: u64, length: u64) -> bool {
        let is_resident = self.file.is_resident(offset, length);
        self.is_under_way.set(self.is_under_way.get() || is_resident);
        is_resident
    }

    fn read_now(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_now(offset, buffer).map_err(io_error)?;
        self.is_under_way.set(true);
        Ok(read)
    }

    fn read(&self, offset: u64, length: usize) -> LocalFuture<io::Result<Vec<u8>>> {
        let file = Arc::clone(&self.file);
        let disk = &self.area.disk;
        let job = move || {
            let mut bytes = vec![0; length];
            let read = file.read(offset, &mut bytes)?;
            bytes.truncate(read);
            file.prefetch(offset.saturating_add(read as u64), AHEAD_BYTES);
            Ok(bytes)
        };
        if self.is_under_way.replace(true) {
            let reading = disk.run_on(job);
            return Box::pin(async move { reading.await.map_err(io_error) });
        }
        let reading = disk.run(job);
        Box::pin(async move { reading.await.map_err(io_error) })
    }
}

fn io_error(error: StorageError) -> io::Error {
    match error {
        StorageError::WouldBlock => io::ErrorKind::WouldBlock.into(),
        error => io::Error::other(error.to_string()),
    }
}
