//! Threads that check passwords, with fair turns among clients and a limit on attempts.

use std::net::IpAddr;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use rustix::process::nice;
use tokio::sync::oneshot;
use weir_access::basic::{Attempt, AttemptEnd, CheckQueue, PasswordAttempts, UserKey};
use weir_access::identity::{BadPassword, BasicUser};

use crate::crypto::{self, AwsLc};
use crate::refusal::Refusal;

/// Maximum number of queued checks in each lane. One lane is for known clients, one for unknown clients.
const LANE_MAX: usize = 128;
const THREADS_MAX: usize = 8;
/// Niceness of the threads: serving requests has priority over checking passwords.
const NICENESS: i32 = 10;

/// Checks passwords for all areas of the process on a few threads. Clients take turns, and
/// [`PasswordAttempts`] limits their attempts. Dropping this ends the threads.
#[derive(Debug)]
pub(crate) struct PasswordChecks(Arc<Shared>);

/// The password check, which runs on a password thread.
pub(super) type Check = Box<dyn FnOnce() -> Result<BasicUser, BadPassword> + Send>;

/// The client that presents a password, and the user name that it claims.
#[derive(Debug, Clone, Copy)]
pub(super) struct Presenter {
    pub(super) client: IpAddr,
    pub(super) user: UserKey,
}

#[derive(Debug)]
struct Shared {
    threads_max: usize,
    /// Start of the clock for attempts.
    since: Instant,
    attempts: Mutex<PasswordAttempts>,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug)]
struct State {
    queue: CheckQueue<Job>,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

struct Job {
    attempt: Attempt,
    check: Check,
    reply: oneshot::Sender<Result<BasicUser, BadPassword>>,
}

impl PasswordChecks {
    /// Creates a checker without threads. Returns `None` if the system has no random numbers.
    pub(crate) fn new() -> Option<Self> {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Some(Self(Arc::new(Shared {
            threads_max: (cores / 2).clamp(1, THREADS_MAX),
            since: Instant::now(),
            attempts: Mutex::new(PasswordAttempts::new(&crypto::random()?)),
            state: Mutex::new(State {
                queue: CheckQueue::new(LANE_MAX),
                threads: 0,
                idle: 0,
                is_closed: false,
            }),
            wake: Condvar::new(),
        })))
    }

    /// Returns the presenter for a client and a user of an htpasswd file.
    pub(super) fn presenter(&self, client: IpAddr, file: &Path, user: &str) -> Presenter {
        let file = file.as_os_str().as_encoded_bytes();
        Presenter { client, user: self.0.attempts().user(file, user, &AwsLc) }
    }

    /// Checks that a password of this client and user may be examined.
    ///
    /// # Errors
    /// If there were too many wrong passwords.
    pub(super) fn admit(&self, who: Presenter) -> Result<(), Refusal> {
        match self.0.attempts().wait_secs(who.client, who.user, self.0.now_ms()) {
            None => Ok(()),
            Some(seconds) => Err(Refusal::TooManyPasswords(seconds)),
        }
    }

    /// Checks a password when it is the client's turn. Skips the check if the request has ended by then.
    ///
    /// # Errors
    /// If there were too many wrong passwords from this client or for this user, or if too many checks wait.
    pub(super) async fn run(
        &self,
        who: Presenter,
        check: Check,
    ) -> Result<Result<BasicUser, BadPassword>, Refusal> {
        let now_ms = self.0.now_ms();
        let (attempt, is_known) = {
            let mut attempts = self.0.attempts();
            let attempt = attempts.begin(who.client, who.user, now_ms).map_err(Refusal::TooManyPasswords)?;
            (attempt, attempts.knows(who.client, now_ms))
        };
        let (reply, checked) = oneshot::channel();
        Shared::push(&self.0, who.client, is_known, Job { attempt, check, reply });
        // No reply means that the queue was full or the check panicked.
        checked.await.map_err(|_| super::TOO_MANY)
    }
}

impl Shared {
    fn push(this: &Arc<Self>, client: IpAddr, is_known: bool, job: Job) {
        let mut state = this.lock();
        let without_room = state.queue.push(client, is_known, job);
        if state.idle < state.queue.len() && state.threads < this.threads_max {
            let shared = Arc::clone(this);
            let thread = thread::Builder::new().name("passwords".to_owned()).spawn(move || shared.work());
            // If no thread can be started, the existing threads run the job later.
            state.threads += usize::from(thread.is_ok());
        }
        // If there is no thread, fail all queued jobs: they would wait forever.
        let mut lost: Vec<Job> = without_room.into_iter().collect();
        while state.threads == 0
            && let Some(job) = state.queue.pop()
        {
            lost.push(job);
        }
        drop(state);
        this.wake.notify_one();
        for job in lost {
            this.end(job.attempt, AttemptEnd::NotChecked);
        }
    }

    fn work(&self) {
        // If this fails, checks compete with the workers.
        let _ = nice(NICENESS);
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return;
            }
            let Some(job) = state.queue.pop() else {
                state.idle += 1;
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            drop(state);
            self.run(job);
            state = self.lock();
        }
    }

    fn run(&self, job: Job) {
        let Job { attempt, check, reply } = job;
        if reply.is_closed() {
            self.end(attempt, AttemptEnd::NotChecked);
            return;
        }
        // Release builds abort on a panic. In tests, a panicking check must not end the thread that other
        // checks wait for.
        let checked = catch_unwind(AssertUnwindSafe(check));
        let end = if matches!(checked, Ok(Ok(_))) { AttemptEnd::Right } else { AttemptEnd::Wrong };
        self.end(attempt, end);
        if let Ok(checked) = checked {
            let _ = reply.send(checked);
        }
    }

    fn end(&self, attempt: Attempt, end: AttemptEnd) {
        self.attempts().end(attempt, end, self.now_ms());
    }

    fn attempts(&self) -> MutexGuard<'_, PasswordAttempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for PasswordChecks {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.wake.notify_all();
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Job(..)")
    }
}
