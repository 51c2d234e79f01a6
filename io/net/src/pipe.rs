//! Kernel pipes for splice.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

/// A kernel pipe through which splice moves bytes from one socket to another.
#[derive(Debug)]
pub struct Pipe {
    pub(crate) reader: OwnedFd,
    pub(crate) writer: OwnedFd,
    /// Number of bytes in the pipe. Only an empty pipe may serve another connection, or one client would get
    /// another's bytes.
    pub(crate) filled: usize,
    pub(crate) capacity: usize,
}

/// Empty pipes of a worker.
#[derive(Debug, Default)]
pub struct PipePool {
    free: RefCell<Vec<Pipe>>,
}

impl Pipe {
    /// Requested capacity in bytes. The kernel may give less to users above their pipe budget.
    const CAPACITY: usize = 1 << 20;

    fn open() -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC)?;
        let capacity = fcntl_setpipe_size(&writer, Self::CAPACITY).unwrap_or(1 << 16);
        Ok(Self { reader, writer, filled: 0, capacity })
    }

    /// Returns true if the pipe is empty.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }
}

impl PipePool {
    const FREE_MAX: usize = 64;

    /// Returns an empty pipe. Fails if descriptors run out; the caller then copies.
    pub fn take(&self) -> io::Result<Pipe> {
        match self.free.borrow_mut().pop() {
            Some(pipe) => Ok(pipe),
            None => Pipe::open(),
        }
    }

    /// Closes the unused pipes and returns their number.
    pub fn close_free(&self) -> usize {
        self.free.take().len()
    }

    /// Returns a pipe to the pool. A pipe that is not empty is closed with its contents.
    pub fn give(&self, pipe: Pipe) {
        let mut free = self.free.borrow_mut();
        if pipe.is_empty() && free.len() < Self::FREE_MAX {
            free.push(pipe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_that_holds_bytes_is_never_handed_out_again() {
        let pool = PipePool::default();
        let mut pipe = pool.take().unwrap();
        pipe.filled = 1;
        pool.give(pipe);
        assert!(pool.free.borrow().is_empty());
        let pipe = pool.take().unwrap();
        pool.give(pipe);
        assert_eq!((pool.close_free(), pool.close_free()), (1, 0));
    }
}
