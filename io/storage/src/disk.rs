//! Threads that may wait for a disk.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::StorageError;

/// A bounded pool of threads for the file calls of one storage area, so that a mount that hangs holds up its own area and
/// nothing else. Clones are handles of the same pool; its threads end after the last one is gone.
#[derive(Debug, Clone)]
pub struct Disk {
    handle: Arc<Handle>,
}

/// What a [`Disk`] has to do at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskLoad {
    /// Threads at work.
    pub busy: usize,
    /// Jobs that wait for a thread.
    pub queued: usize,
}

#[derive(Debug)]
struct Handle(Arc<Shared>);

type Job = Box<dyn FnOnce() + Send>;

struct Shared {
    name: String,
    threads_max: usize,
    queue_max: usize,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl Disk {
    /// A pool with at most `threads_max` threads, which start when they are needed, and at most `queue_max` jobs that wait
    /// for one. `name` appears in the threads' names.
    pub fn new(name: &str, threads_max: usize, queue_max: usize) -> Self {
        let shared = Shared {
            name: format!("disk {name}"),
            threads_max: threads_max.max(1),
            queue_max,
            state: Mutex::default(),
            wake: Condvar::new(),
        };
        Self { handle: Arc::new(Handle(Arc::new(shared))) }
    }

    /// Does a job on a thread of the pool, from now on and not only when the future is polled. Fails at once with
    /// [`StorageError::Busy`] if no thread is free and the queue is full.
    ///
    /// A job that has begun goes on when the future is dropped, and its result is dropped on the pool's thread; one that
    /// still waits is dropped there without being done.
    pub fn run<T, F>(&self, job: F) -> impl Future<Output = Result<T, StorageError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, StorageError> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let job = move || {
            if !sender.is_closed() {
                let _ = sender.send(job());
            }
        };
        let accepted = Shared::push(&self.handle.0, Box::new(job), true);
        async move {
            accepted?;
            // Without an answer the job has panicked.
            receiver.await.unwrap_or(Err(StorageError::Cancelled))
        }
    }

    /// Does a job however long the queue is, and tells nobody: for cleaning up, which must not be left out.
    pub fn always(&self, job: impl FnOnce() + Send + 'static) {
        // Not bounded by the queue's length, so it fails only if no thread can be made; then it is lost, and the next
        // start of the process cleans up.
        let _ = Shared::push(&self.handle.0, Box::new(job), false);
    }

    /// How much it has to do.
    pub fn load(&self) -> DiskLoad {
        let state = self.handle.0.lock();
        DiskLoad {
            busy: state.threads.saturating_sub(state.idle),
            queued: state.queue.len().saturating_sub(state.idle),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(this: &Arc<Self>, job: Job, bounded: bool) -> Result<(), StorageError> {
        let mut state = this.lock();
        // Those that wait already have a claim on the idle threads.
        if state.idle <= state.queue.len() && state.threads < this.threads_max {
            let shared = Arc::clone(this);
            let thread = std::thread::Builder::new().name(this.name.clone()).spawn(move || shared.work());
            match thread {
                // Counted as idle until it takes its first job, so that nobody starts another one for the same job.
                Ok(_) => {
                    state.threads += 1;
                    state.idle += 1;
                }
                Err(_) if state.threads == 0 => return Err(StorageError::Busy),
                // Those that there are will get to it.
                Err(_) => {}
            }
        }
        // Those in the queue that an idle thread is about to take do not wait.
        if bounded && state.queue.len() >= this.queue_max.saturating_add(state.idle) {
            return Err(StorageError::Busy);
        }
        state.queue.push_back(job);
        drop(state);
        this.wake.notify_one();
        Ok(())
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.queue.pop_front() {
                state.idle = state.idle.saturating_sub(1);
                drop(state);
                // A job that panics is lost, and not the thread with it.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = self.lock();
                state.idle += 1;
            } else if state.closed {
                return;
            } else {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Nobody waits for the threads: one may hang in a dead mount for ever.
        self.0.lock().closed = true;
        self.0.wake.notify_all();
    }
}
