//! Pools of threads for file calls, which may wait for a disk.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::{LocalUser, StorageError, acting};

/// A bounded pool of threads for the file calls of one storage area, so that a mount that hangs blocks only
/// its own area. Clones are handles of the same pool. Its threads end after the last handle is dropped.
#[derive(Debug, Clone)]
pub struct Disk {
    handle: Arc<Handle>,
    /// Local user that the jobs run as; `None` = the process's own user.
    user: Option<Arc<LocalUser>>,
}

/// Current load of a [`Disk`].
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

/// Kind of a job: it decides whether a full queue refuses the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// First job of a request; may be refused.
    First,
    /// Further job of something that was admitted; never refused.
    Further,
    /// First job that may take minutes.
    Long,
    /// Further job that may take minutes.
    FurtherLong,
}

struct Shared {
    name: String,
    threads_max: usize,
    /// Most threads that run long jobs at a time; the others stay free for short jobs.
    long_max: usize,
    queue_max: usize,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    /// Long jobs that wait for a thread.
    long: VecDeque<Job>,
    /// Threads that run long jobs.
    long_busy: usize,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl Disk {
    /// Creates a pool of at most `threads_max` threads, which start when they are needed. At most `queue_max`
    /// first jobs and `queue_max` long ones wait for a thread. `name` appears in the names of the threads.
    pub fn new(name: &str, threads_max: usize, queue_max: usize) -> Self {
        let shared = Shared {
            name: format!("disk {name}"),
            threads_max: threads_max.max(1),
            long_max: (threads_max / 2).max(1),
            queue_max,
            state: Mutex::default(),
            wake: Condvar::new(),
        };
        Self { handle: Arc::new(Handle(Arc::new(shared))), user: None }
    }

    /// Returns a handle of the same threads that runs its jobs as a local user.
    #[must_use]
    pub fn acting_as(&self, user: Arc<LocalUser>) -> Self {
        Self { handle: Arc::clone(&self.handle), user: Some(user) }
    }

    /// Returns whether jobs run as a local user. Such a handle must open files in jobs only; the user's
    /// rights were checked when an open file was opened.
    pub fn acts_as_user(&self) -> bool {
        self.user.is_some()
    }

    /// Runs the first job of a request on a thread of the pool. The job is queued at once, not at the first
    /// poll. The future fails at once with [`StorageError::Busy`] if no thread is free and the queue is full.
    ///
    /// If the future is dropped, a running job goes on and its result is dropped on the pool's thread. A
    /// waiting job is dropped there without being run.
    pub fn run<T, F>(&self, job: F) -> impl Future<Output = Result<T, StorageError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, StorageError> + Send + 'static,
    {
        self.run_as(Class::First, job)
    }

    /// Checks whether [`Self::run`] would accept a job now, for work that begins without a job and may need
    /// one later.
    ///
    /// # Errors
    /// [`StorageError::Busy`] if a job would be refused.
    pub fn admit(&self) -> Result<(), StorageError> {
        let shared = &self.handle.0;
        let state = shared.lock();
        // The pool may start another thread for the job.
        let has_thread = state.threads < shared.threads_max;
        if !has_thread && shared.is_full(&state, Class::First) { Err(StorageError::Busy) } else { Ok(()) }
    }

    /// Runs a further job of admitted work, like [`Self::run`]. It waits however long the queue is, because a
    /// refusal would waste the work already done. Each admitted request has only a few such jobs at a time,
    /// which bounds the queue.
    pub fn run_on<T, F>(&self, job: F) -> impl Future<Output = Result<T, StorageError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, StorageError> + Send + 'static,
    {
        self.run_as(Class::Further, job)
    }

    /// Runs a job that may take minutes, such as reading a whole file, like [`Self::run`]. At most half of
    /// the threads (but at least one) run such jobs. They wait in a queue of their own, with the same bound.
    pub fn run_long<T, F>(&self, job: F) -> impl Future<Output = Result<T, StorageError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, StorageError> + Send + 'static,
    {
        self.run_as(Class::Long, job)
    }

    /// Runs a further job of admitted work, like [`Self::run_long`]. It waits however long the queue is.
    pub fn run_long_on<T, F>(
        &self,
        job: F,
    ) -> impl Future<Output = Result<T, StorageError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, StorageError> + Send + 'static,
    {
        self.run_as(Class::FurtherLong, job)
    }

    fn run_as<T, F>(
        &self,
        class: Class,
        job: F,
    ) -> impl Future<Output = Result<T, StorageError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, StorageError> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let user = self.user.clone();
        let job = move || {
            if !sender.is_closed() {
                let done = match &user {
                    None => job(),
                    Some(user) => acting::as_user(user, job),
                };
                let _ = sender.send(done);
            }
        };
        let accepted = Shared::push(&self.handle.0, Box::new(job), class);
        async move {
            accepted?;
            // Without a result, the job has panicked.
            receiver.await.unwrap_or(Err(StorageError::Cancelled))
        }
    }

    /// Runs a job however long the queue is, and discards its result. For clean-up, which must not be
    /// skipped.
    pub fn always(&self, job: impl FnOnce() + Send + 'static) {
        let user = self.user.clone();
        let job = move || match &user {
            None => job(),
            Some(user) => {
                let _ = acting::as_user(user, || {
                    job();
                    Ok(())
                });
            }
        };
        // This class is never refused, so only the start of the first thread can fail. The job is lost then,
        // and the next start of the process cleans up.
        let _ = Shared::push(&self.handle.0, Box::new(job), Class::Further);
    }

    /// Returns the current load.
    pub fn load(&self) -> DiskLoad {
        let state = self.handle.0.lock();
        let waiting = state.queue.len() + state.long.len();
        let claimed = state.idle.min(self.handle.0.ready(&state));
        DiskLoad { busy: state.threads.saturating_sub(state.idle), queued: waiting.saturating_sub(claimed) }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of long jobs that may begin as soon as a thread is free.
    fn ready_long(&self, state: &State) -> usize {
        state.long.len().min(self.long_max.saturating_sub(state.long_busy))
    }

    /// Returns the number of jobs that may begin as soon as a thread is free.
    fn ready(&self, state: &State) -> usize {
        state.queue.len() + self.ready_long(state)
    }

    /// Returns whether the queue has no room for one more job of this class.
    fn is_full(&self, state: &State, class: Class) -> bool {
        // Queued jobs that an idle thread is about to take do not count as waiting.
        match class {
            Class::First => {
                let idle = state.idle.saturating_sub(self.ready_long(state));
                state.queue.len() >= self.queue_max.saturating_add(idle)
            }
            Class::Further | Class::FurtherLong => false,
            Class::Long => {
                let idle = state.idle.saturating_sub(state.queue.len());
                let room = self.long_max.saturating_sub(state.long_busy);
                state.long.len() >= self.queue_max.saturating_add(idle.min(room))
            }
        }
    }

    fn push(this: &Arc<Self>, job: Job, class: Class) -> Result<(), StorageError> {
        let mut state = this.lock();
        let is_long = matches!(class, Class::Long | Class::FurtherLong);
        let may_begin = !is_long || state.long_busy + state.long.len() < this.long_max;
        // The idle threads are reserved for the jobs that already wait.
        if may_begin && state.idle <= this.ready(&state) && state.threads < this.threads_max {
            let shared = Arc::clone(this);
            let thread = std::thread::Builder::new().name(this.name.clone()).spawn(move || shared.work());
            match thread {
                // Counts as idle until it takes its first job, so that no second thread starts for the same
                // job.
                Ok(_) => {
                    state.threads += 1;
                    state.idle += 1;
                }
                Err(_) if state.threads == 0 => return Err(StorageError::Busy),
                // The existing threads will run the job.
                Err(_) => {}
            }
        }
        if this.is_full(&state, class) {
            return Err(StorageError::Busy);
        }
        match class {
            Class::Long | Class::FurtherLong => state.long.push_back(job),
            Class::First | Class::Further => state.queue.push_back(job),
        }
        drop(state);
        this.wake.notify_one();
        Ok(())
    }

    /// Returns the next job and whether it is long. Long jobs come first, up to their limit; other threads
    /// are reserved for short ones.
    fn next(&self, state: &mut State) -> Option<(Job, bool)> {
        let long = if self.ready_long(state) > 0 { state.long.pop_front() } else { None };
        match long {
            Some(job) => {
                state.long_busy += 1;
                Some((job, true))
            }
            None => state.queue.pop_front().map(|job| (job, false)),
        }
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some((job, is_long)) = self.next(&mut state) {
                state.idle = state.idle.saturating_sub(1);
                drop(state);
                // A panic ends the job and not the thread.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = self.lock();
                if acting::is_lost() {
                    // The thread ends; the next job starts another one.
                    state.threads = state.threads.saturating_sub(1);
                    state.long_busy = state.long_busy.saturating_sub(is_long.into());
                    return;
                }
                state.idle += 1;
                state.long_busy = state.long_busy.saturating_sub(is_long.into());
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
        // Does not join the threads: one may hang in a dead mount forever.
        self.0.lock().closed = true;
        self.0.wake.notify_all();
    }
}
