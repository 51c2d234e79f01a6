//! The event loop of one thread that generates load.

mod coming;
mod following;
mod links;
mod starting;

use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;

use rustix::event::epoll;
use weir_http::{HeadLimits, HeaderTable};

use super::answer::Reader;
use super::clock::Clock;
use super::http2::Link;
use super::job::{Job, Jobs, jobs};
use super::lane::Lane;
use super::live::LiveThread;
use super::output::Output;
use super::places::Places;
use super::servers::ServerNames;
use super::shared::Shared;
use crate::facts::{FirstAnswer, Mode, ThreadFacts};
use crate::load::LoadError;
use crate::record::Fault;
use crate::tally::Tally;

/// One thread with its connections, its part of the schedule, and its clock.
pub(super) struct Worker<'l> {
    shared: &'l Shared,
    live: &'l LiveThread,
    epoll: OwnedFd,
    clock: Clock,
    jobs: Jobs<'l>,
    /// Connections begun since the last time that no request was due.
    connect_burst: u64,
    /// Due jobs that wait for a connection.
    backlog: VecDeque<Job>,
    lanes: Places<Lane>,
    /// Established lanes without a request, per origin. The lane used last is at the end.
    idle: Vec<Vec<usize>>,
    /// Connections that several lanes share.
    links: Places<Link>,
    /// Links that need work before the next wait.
    due_links: Vec<usize>,
    /// Reused buffers.
    woken: Vec<usize>,
    steps: Vec<(usize, Step)>,
    /// Deadlines of requests. Ended requests are removed later.
    deadlines: VecDeque<(u64, usize, u64)>,
    /// Pauses before the next request, with their ends.
    pauses: VecDeque<(u64, Pause)>,
    connections_max: usize,
    /// Connections that accept requests.
    open: usize,
    under_way: usize,
    /// Time of the last received byte while requests are in progress.
    silent_since: Option<u64>,
    next_id: u64,
    /// Reserved numbers for requests of the closed loop.
    numbers: Range<u64>,
    next_source: usize,
    reader: Reader<'l>,
    scratch: Vec<u8>,
    output: Output<'l>,
    pub(super) report: Report,
}

/// Result of a thread.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) tally: Tally,
    pub(super) due: u64,
    pub(super) unsent: u64,
    pub(super) connections: u64,
    pub(super) connections_at_once: u64,
    pub(super) connect_burst_max: u64,
    pub(super) streams_allowed: Option<u64>,
    pub(super) closed_idle: u64,
    pub(super) unasked: u64,
    pub(super) first_answer: Option<FirstAnswer>,
    pub(super) silence_ns: u64,
    pub(super) facts: ThreadFacts,
    pub(super) unrecorded: u64,
    pub(super) stopped: bool,
    pub(super) sessions: Sessions,
}

/// Statistics of sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    pub(super) lifetimes: weir_stats::NanosHistogram,
    pub(super) complete: u64,
    pub(super) ended: u64,
    pub(super) replies: u64,
}

#[derive(Debug, Clone, Copy)]
enum Pause {
    /// Pause of a user in the closed loop.
    User,
    /// Pause of the session on this lane.
    Session { lane: usize, serial: u32, job: Job },
}

/// Outcome of a request after its connection was polled.
#[derive(Debug)]
enum Step {
    Pending,
    Answered {
        keep: bool,
    },
    Failed(Fault),
    /// The request was not sent, because the connection accepts no more requests.
    Unsent,
    /// The connection had no request and cannot be reused.
    Over {
        /// True if the server sent bytes without a request.
        unasked: bool,
    },
}

/// Size of the read buffer. It is larger than a socket's buffer, so that one read empties the socket.
const SCRATCH_BYTES: usize = 512 << 10;
/// Maximum number of events per wait.
const EVENTS: usize = 256;
/// Maximum number of due requests that are started before responses are handled.
const STARTS: usize = 64;
/// Request numbers that a thread of the closed loop reserves at once. All threads share the counter, and each
/// access moves its cache line between cores.
const NUMBERS: u64 = 64;
/// Number of deadlines below which those of ended requests are not removed.
const DEADLINES_MIN: usize = 4_096;
/// Minimum pause of a user in the closed loop after a failed connection attempt. Otherwise, a user would do
/// nothing but connect.
const RETRY_NS: u64 = 10_000_000;

impl<'l> Worker<'l> {
    pub(super) fn new(shared: &'l Shared, thread: usize, live: &'l LiveThread) -> Result<Self, LoadError> {
        let load = &shared.load;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|cause| LoadError::System { what: "epoll", cause: cause.into() })?;
        let share = |all: usize| all / load.threads + usize::from(thread < all % load.threads);
        Ok(Self {
            shared,
            live,
            epoll,
            clock: Clock::new(shared.start),
            jobs: jobs(load, thread, load.threads),
            backlog: VecDeque::new(),
            lanes: Places::new(),
            idle: vec![Vec::new(); shared.origins.len()],
            links: Places::new(),
            due_links: Vec::new(),
            woken: Vec::new(),
            steps: Vec::new(),
            deadlines: VecDeque::new(),
            pauses: VecDeque::new(),
            connections_max: match load.mode {
                Mode::Closed { connections, .. } => share(connections),
                _ => share(load.connections_max).max(1),
            },
            open: 0,
            under_way: 0,
            silent_since: None,
            next_id: 0,
            numbers: 0..0,
            next_source: thread,
            reader: Reader {
                table: HeaderTable::new(),
                limits: HeadLimits::default(),
                verify: load.verify.as_ref(),
                server_header: &load.server_header,
                servers: ServerNames::new(&shared.servers),
                follows: !load.follow.is_empty(),
                software: None,
            },
            scratch: vec![0; SCRATCH_BYTES],
            output: Output::new(shared.writer.as_ref()),
            connect_burst: 0,
            report: Report {
                tally: Tally::new(load.targets.len(), &load.expected),
                due: 0,
                unsent: 0,
                connections: 0,
                connections_at_once: 0,
                connect_burst_max: 0,
                streams_allowed: None,
                closed_idle: 0,
                unasked: 0,
                first_answer: None,
                silence_ns: 0,
                facts: ThreadFacts::default(),
                unrecorded: 0,
                stopped: false,
                sessions: Sessions::default(),
            },
        })
    }

    /// Generates this thread's part of the load.
    pub(super) fn run(mut self) -> Result<Report, LoadError> {
        self.clock.wait_for_start();
        let begun = self.clock.now();
        if let Mode::Closed { .. } = self.shared.load.mode {
            (0..self.connections_max * self.streams()).for_each(|_| self.start_user());
        }
        let mut events = Vec::with_capacity(EVENTS);
        while !self.is_over() {
            self.start_due();
            self.end_pauses();
            self.time_out();
            self.drive_links();
            let next = self.next_start();
            let latest = self.deadlines.front().map(|(at, ..)| *at);
            self.clock
                .wait(&self.epoll, &mut events, next, latest)
                .map_err(|cause| LoadError::System { what: "epoll", cause: cause.into() })?;
            for event in events.drain(..) {
                let token = event.data.u64();
                self.on_event((token >> 32) as usize, token as u32, event.flags);
            }
            self.drive_links();
            self.start_waiting();
        }
        let wall_ns = self.clock.now() - begun;
        self.report.facts = self.clock.facts(wall_ns);
        self.report.unrecorded = self.output.finish();
        Ok(self.report)
    }

    /// Returns the exact time of the next start.
    fn next_start(&mut self) -> Option<u64> {
        let job = self.jobs.peek().map(|job| job.due_ns);
        let pause = self.pauses.front().map(|(at, _)| *at);
        [job, pause].into_iter().flatten().min()
    }

    fn is_over(&mut self) -> bool {
        if self.shared.stop.load(Relaxed) {
            self.report.stopped = true;
            self.abandon();
            return true;
        }
        let is_loop = matches!(self.shared.load.mode, Mode::Closed { .. });
        if is_loop && self.shared.is_time_up(self.clock.now()) {
            self.pauses.clear();
        }
        if self.jobs.peek().is_some() || self.under_way > 0 || !self.pauses.is_empty() {
            return false;
        }
        // No request is in progress, so no connection will become free for the waiting jobs.
        self.report.unsent += self.waiting_requests();
        true
    }

    fn waiting_requests(&self) -> u64 {
        self.backlog.iter().map(|job| u64::from(job.calls.max(1))).sum()
    }

    /// Abandons the requests in progress after the user has stopped the run.
    fn abandon(&mut self) {
        self.report.unsent += self.waiting_requests();
        for at in 0..self.lanes.len() {
            if self.lanes.get(at).is_some_and(|lane| lane.exchange.is_some()) {
                self.fail(at, Fault::Stopped);
            }
        }
    }
}

impl std::fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("open", &self.open)
            .field("under_way", &self.under_way)
            .finish_non_exhaustive()
    }
}
