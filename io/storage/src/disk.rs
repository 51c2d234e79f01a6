//! Threads that may wait for a disk.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::{LocalUser, StorageError, acting};

/// A bounded pool of threads for the file calls of one storage area, so that a mount that hangs holds up its own area and
/// nothing else. Clones are handles of the same pool; its threads end after the last one is gone.
#[derive(Debug, Clone)]
pub struct Disk {
    handle: Arc<Handle>,
    /// As whom its jobs are done; `None` = as the process itself.
    user: Option<Arc<LocalUser>>,
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

/// Who asks for a job, and what it is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// What a request begins with: it can be refused.
    First,
    /// What goes on with something.
    Further,
    /// What may take minutes.
    Long,
    /// The same, going on with something.
    FurtherLong,
}

struct Shared {
    name: String,
    threads_max: usize,
    /// So many threads may be at work at [`Class::Long`]: the others are for those who wait for something short.
    long_max: usize,
    queue_max: usize,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    /// Long jobs that wait.
    long: VecDeque<Job>,
    /// Threads at work at long jobs.
    long_busy: usize,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl Disk {
    /// A pool with at most `threads_max` threads, which start when they are needed, and at most `queue_max` first jobs that
    /// wait for one, and as many long ones. `name` appears in the threads' names.
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

    /// The same threads, for jobs that are done as a local user.
    #[must_use]
    pub fn acting_as(&self, user: Arc<LocalUser>) -> Self {
        Self { handle: Arc::clone(&self.handle), user: Some(user) }
    }

    /// Whether jobs are done as a local user. What is open already was judged when it was opened; nothing may be opened
    /// without a job.
    pub fn acts_as_user(&self) -> bool {
        self.user.is_some()
    }

    /// Does a job on a thread of the pool, from now on and not only when the future is polled: one that a request begins
    /// with. Fails at once with [`StorageError::Busy`] if no thread is free and the queue is full.
    ///
    /// A job that has begun goes on when the future is dropped, and its result is dropped on the pool's thread; one that
    /// still waits is dropped there without being done.
    pub fn run<T, F>(&self, job: F) -> impl Future<Output = Result<T, StorageError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, StorageError> + Send + 'static,
    {
        self.run_as(Class::First, job)
    }

    /// Whether [`Self::run`] would take a job now: for what begins without one and may need some later.
    ///
    /// # Errors
    /// [`StorageError::Busy`]: no.
    pub fn admit(&self) -> Result<(), StorageError> {
        let shared = &self.handle.0;
        let state = shared.lock();
        // A thread that does not run yet would take it.
        let has_thread = state.threads < shared.threads_max;
        if !has_thread && shared.is_full(&state, Class::First) { Err(StorageError::Busy) } else { Ok(()) }
    }

    /// The same as [`Self::run`] for what goes on with something: it waits however long the queue is, since refusing it would throw away
    /// what was already done. Each request may have but a few of these at a time; so those that were let in are the bound.
    pub fn run_on<T, F>(&self, job: F) -> impl Future<Output = Result<T, StorageError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, StorageError> + Send + 'static,
    {
        self.run_as(Class::Further, job)
    }

    /// The same as [`Self::run`] for what may take minutes, as reading a whole file. At most half of the threads are at work at such jobs (but
    /// at least one); those that wait have a queue of their own, with the same bound.
    pub fn run_long<T, F>(&self, job: F) -> impl Future<Output = Result<T, StorageError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, StorageError> + Send + 'static,
    {
        self.run_as(Class::Long, job)
    }

    /// The same as [`Self::run_long`] for what goes on with something: it waits however long the queue is.
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
            // Without an answer the job has panicked.
            receiver.await.unwrap_or(Err(StorageError::Cancelled))
        }
    }

    /// Does a job however long the queue is, and tells nobody: for cleaning up, which must not be left out.
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
        // Not bounded by the queue's length, so it fails only if no thread can be made; then it is lost, and the next
        // start of the process cleans up.
        let _ = Shared::push(&self.handle.0, Box::new(job), Class::Further);
    }

    /// How much it has to do.
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

    /// Long jobs that may begin as soon as a thread is free.
    fn ready_long(&self, state: &State) -> usize {
        state.long.len().min(self.long_max.saturating_sub(state.long_busy))
    }

    /// Jobs that may begin as soon as a thread is free.
    fn ready(&self, state: &State) -> usize {
        state.queue.len() + self.ready_long(state)
    }

    /// Whether there is neither a thread nor room for one more job.
    fn is_full(&self, state: &State, class: Class) -> bool {
        // Those in the queue that an idle thread is about to take do not wait.
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
        // Those that wait already have a claim on the idle threads.
        if may_begin && state.idle <= this.ready(&state) && state.threads < this.threads_max {
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

    /// The next job, and whether it is a long one. Those come first, as far as they may: the others have their own threads.
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
                // A job that panics is lost, and not the thread with it.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = self.lock();
                if acting::is_lost() {
                    // Another thread takes its place.
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
        // Nobody waits for the threads: one may hang in a dead mount for ever.
        self.0.lock().closed = true;
        self.0.wake.notify_all();
    }
}
