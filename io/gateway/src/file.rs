use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use weir_net::service::{FileSource, LocalFuture};
use weir_storage::{Disk, OpenFile, StorageError};

/// What is read behind a piece that had to come from the disk, so that the next ones need not.
const AHEAD_BYTES: u64 = 4 * 1024 * 1024;

/// An open file that is being sent.
pub(crate) struct ServedFile {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) disk: Disk,
}

impl FileSource for ServedFile {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn is_resident(&self, offset: u64, length: u64) -> bool {
        self.file.is_resident(offset, length)
    }

    fn read_now(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_now(offset, buffer).map_err(io_error)
    }

    fn read(&self, offset: u64, length: usize) -> LocalFuture<io::Result<Vec<u8>>> {
        let file = Arc::clone(&self.file);
        let reading = self.disk.run(move || {
            let mut bytes = vec![0; length];
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
