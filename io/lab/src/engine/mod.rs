//! Generates the load. The threads share only the schedule, and each has its own epoll instance.

mod ahead;
mod answer;
mod clock;
mod connection;
mod groups;
mod http2;
mod job;
mod lane;
mod live;
mod memory;
mod onward;
mod output;
mod places;
mod process;
mod quota;
mod servers;
mod shared;
mod worker;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::facts::{Facts, Head, Mode, SessionFacts};
use crate::load::{Load, LoadError};
use crate::run_file::FORMAT;
use crate::schedule::Schedule;
use crate::summary::Run;
use crate::tally::Tally;
use live::LiveThread;
pub use live::Progress;
use output::Writer;
use process::CpuTime;
pub(crate) use process::raise_descriptor_limit;
use quota::Quotas;
use shared::Shared;
use worker::{Report, Sessions, Worker};

/// Run in progress.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    live: Arc<[LiveThread]>,
    threads: Vec<JoinHandle<Result<Report, LoadError>>>,
    writer: Option<Writer>,
    output: String,
    head: Head,
    cpu: CpuTime,
    quotas: Quotas,
    memory_available_min: Option<u64>,
    memory_seen: Option<Instant>,
}

/// Time before the first request is due, in which all threads start.
const START_DELAY: Duration = Duration::from_millis(30);
/// Interval between checks of the available memory.
const MEMORY_PERIOD: Duration = Duration::from_secs(1);
/// Minimum available memory, in bytes. Below it, the kernel may soon kill a process. The run stops instead,
/// so that it can report why it is invalid.
const MEMORY_LEAST: u64 = 16 << 20;

impl Running {
    /// Resolves names, reads certificates, opens the result file, and starts the run. Raises this process's
    /// limit of file descriptors to the maximum.
    ///
    /// # Errors
    /// If a resource that the load needs is missing.
    pub fn start(mut load: Load) -> Result<Self, LoadError> {
        load.threads = load.threads.max(1);
        process::raise_descriptor_limit();
        let live: Arc<[LiveThread]> = (0..load.threads).map(|_| LiveThread::new()).collect();
        let mut shared = Shared::new(load)?;
        let path = shared.load.output.clone();
        let head = head_of(&shared.load);
        let output = path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let writer = path.map(|path| Writer::start(&path, &head)).transpose();
        let writer = writer.map_err(|cause| LoadError::Output { path: output.clone(), cause })?;
        shared.writer = writer.as_ref().map(Writer::sender);
        shared.start = Instant::now() + START_DELAY;
        let mut running = Self {
            shared: Arc::new(shared),
            live,
            threads: Vec::new(),
            writer,
            output,
            head,
            cpu: CpuTime::of_process(),
            quotas: Quotas::now(),
            memory_available_min: None,
            memory_seen: None,
        };
        for number in 0..running.live.len() {
            let (shared, live) = (Arc::clone(&running.shared), Arc::clone(&running.live));
            let work = move || {
                let is_ahead = shared.load.ahead && ahead::run_ahead();
                let mut report = Worker::new(&shared, number, &live[number])?.run()?;
                report.facts.is_ahead = is_ahead;
                Ok(report)
            };
            let thread = thread::Builder::new().name(format!("load-{number}")).spawn(work);
            match thread {
                Ok(thread) => running.threads.push(thread),
                Err(cause) => {
                    running.stop();
                    return Err(LoadError::System { what: "a thread", cause });
                }
            }
        }
        Ok(running)
    }

    /// Returns the settings of the run.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the progress of the run.
    pub fn progress(&self) -> Progress {
        Progress::of(&self.live, self.shared.start.elapsed().as_secs_f64())
    }

    /// Stops the run immediately.
    pub fn stop(&self) {
        self.shared.stop.store(true, Relaxed);
    }

    /// Returns true if all threads have ended. Also checks the available memory and stops the run if hardly
    /// any is left, so callers must call it often.
    pub fn is_finished(&mut self) -> bool {
        if self.memory_seen.is_none_or(|seen| seen.elapsed() >= MEMORY_PERIOD) {
            self.memory_seen = Some(Instant::now());
            let available = memory::available();
            if available.is_some_and(|bytes| bytes < MEMORY_LEAST) {
                self.stop();
            }
            self.memory_available_min = match (self.memory_available_min, available) {
                (Some(least), Some(available)) => Some(least.min(available)),
                (least, available) => least.or(available),
            };
        }
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Waits for the end of the run and merges the results of the threads.
    ///
    /// # Errors
    /// If a thread could not continue, or if the result file could not be written.
    pub fn finish(mut self) -> Result<Run, LoadError> {
        const LOOK: Duration = Duration::from_millis(20);
        while !self.is_finished() {
            thread::park_timeout(LOOK);
        }
        let mut tally = Tally::new(self.head.targets.len(), &self.head.expected);
        let mut facts = Facts { memory_available_min: self.memory_available_min, ..Facts::default() };
        let mut sessions = Sessions::default();
        for (number, thread) in self.threads.into_iter().enumerate() {
            let report = thread.join().map_err(|_| LoadError::System {
                what: "a thread",
                cause: std::io::Error::other("has panicked"),
            })??;
            tally.merge(&report.tally);
            facts.due += report.due;
            facts.unsent += report.unsent;
            facts.connections += report.connections;
            facts.connections_at_once += report.connections_at_once;
            facts.connect_burst_max = facts.connect_burst_max.max(report.connect_burst_max);
            facts.closed_idle += report.closed_idle;
            facts.unasked += report.unasked;
            facts.first_answer = facts.first_answer.or(report.first_answer);
            facts.streams_allowed = match (facts.streams_allowed, report.streams_allowed) {
                (Some(least), Some(allowed)) => Some(least.min(allowed)),
                (least, allowed) => least.or(allowed),
            };
            facts.unrecorded += report.unrecorded;
            facts.stopped |= report.stopped;
            // A silence counts only if all threads observed it.
            let silence_ns = report.silence_ns;
            facts.silence_ns = if number == 0 { silence_ns } else { facts.silence_ns.min(silence_ns) };
            facts.threads.push(report.facts);
            sessions.lifetimes.merge(&report.sessions.lifetimes);
            sessions.complete += report.sessions.complete;
            sessions.ended += report.sessions.ended;
            sessions.replies += report.sessions.replies;
        }
        facts.wall_ns = tally.last_end_ns;
        let cpu = CpuTime::of_process();
        facts.quota = Quotas::now().since(&self.quotas);
        facts.cpu_user_ns = cpu.user_ns.saturating_sub(self.cpu.user_ns);
        facts.cpu_system_ns = cpu.system_ns.saturating_sub(self.cpu.system_ns);
        if let Mode::Sessions { .. } = self.head.mode {
            facts.sessions = Some(session_facts(&sessions));
        }
        let servers = self.shared.servers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        drop(self.shared);
        if let Some(writer) = self.writer {
            let written = writer.finish(&facts, &servers);
            written.map_err(|cause| LoadError::Output { path: self.output, cause })?;
        }
        Ok(Run { head: self.head, tally, facts: Some(facts), servers })
    }
}

fn session_facts(sessions: &Sessions) -> SessionFacts {
    let ms = |ns: f64| ns / 1e6;
    let lifetimes = &sessions.lifetimes;
    SessionFacts {
        complete: sessions.complete,
        min_ms: ms(lifetimes.min_ns() as f64),
        mean_ms: ms(lifetimes.mean_ns()),
        max_ms: ms(lifetimes.max_ns() as f64),
        median_ms: ms(lifetimes.quantile_ns(0.5) as f64),
        deviation_ms: ms(lifetimes.deviation_ns()),
        replies_mean: sessions.replies as f64 / sessions.ended.max(1) as f64,
    }
}

fn head_of(load: &Load) -> Head {
    let max = load.requests_max.unwrap_or(u64::MAX);
    let count = |phases, arrivals| {
        let mut last = 0;
        let times = Schedule::new(phases, arrivals).take(usize::try_from(max).unwrap_or(usize::MAX));
        let count = times.inspect(|due_ns| last = *due_ns).count() as u64;
        // A limit of requests ends a run before its last phase ends.
        (count, if count == max { (last as f64 / 1e9).min(phases.duration_s()) } else { phases.duration_s() })
    };
    let (requests, duration_s) = match &load.mode {
        Mode::Open { phases, arrivals } => {
            let (count, duration_s) = count(phases, *arrivals);
            (Some(count), Some(duration_s))
        }
        Mode::Sessions { phases, arrivals, calls, .. } => {
            let (count, duration_s) = count(phases, *arrivals);
            (Some(count * u64::from(*calls)), Some(duration_s))
        }
        Mode::Replay { .. } => {
            let count = load.log.len().min(usize::try_from(max).unwrap_or(usize::MAX));
            let last = load.log[..count].last().map_or(0, |(due_ns, _)| *due_ns);
            (Some(count as u64), Some(last as f64 / 1e9))
        }
        Mode::Closed { .. } => (load.requests_max, load.duration.map(|duration| duration.as_secs_f64())),
    };
    let started = SystemTime::now() + START_DELAY;
    Head {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ns: started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64),
        mode: load.mode.clone(),
        targets: load.targets.iter().map(|target| format!("{} {}", target.method, target.url)).collect(),
        requests,
        duration_s,
        streams: load.streams,
        connections_max: load.connections_max,
        threads: load.threads,
        timeout_s: load.timeout.as_secs_f64(),
        expected: load.expected.clone(),
    }
}
