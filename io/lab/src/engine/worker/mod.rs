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

/// One thread: its connections, its part of the schedule, its clock.
pub(super) struct Worker<'l> {
    shared: &'l Shared,
    live: &'l LiveThread,
    epoll: OwnedFd,
    clock: Clock,
    jobs: Jobs<'l>,
    /// Connections that have been begun since nothing was due.
    connect_burst: u64,
    /// Due, and no connection to be had.
    backlog: VecDeque<Job>,
    lanes: Places<Lane>,
    /// Lanes that stand and have no request, of each origin, the one used last at the end.
    idle: Vec<Vec<usize>>,
    /// Connections that lanes share.
    links: Places<Link>,
    /// Those that something is to be done for before the next wait.
    due_links: Vec<usize>,
    /// Buffers that are used again.
    woken: Vec<usize>,
    steps: Vec<(usize, Step)>,
    /// When requests that are under way fail; those that have ended are still in it.
    deadlines: VecDeque<(u64, usize, u64)>,
    /// Who thinks before the next request, and until when.
    pauses: VecDeque<(u64, Pause)>,
    connections_max: usize,
    /// Connections that take requests.
    open: usize,
    under_way: usize,
    /// Requests are under way and nothing has come since then.
    silent_since: Option<u64>,
    next_id: u64,
    /// For requests of the closed loop.
    numbers: Range<u64>,
    next_source: usize,
    reader: Reader<'l>,
    scratch: Vec<u8>,
    output: Output<'l>,
    pub(super) report: Report,
}

/// What a thread has to tell at its end.
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

/// How sessions went.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    pub(super) lifetimes: weir_stats::NanosHistogram,
    pub(super) complete: u64,
    pub(super) ended: u64,
    pub(super) replies: u64,
}

#[derive(Debug, Clone, Copy)]
enum Pause {
    /// Of a user of the closed loop.
    User,
    /// Of the session on this lane.
    Session { lane: usize, serial: u32, job: Job },
}

/// What became of a request when its connection was looked at.
#[derive(Debug)]
enum Step {
    Pending,
    Answered {
        keep: bool,
    },
    Failed(Fault),
    /// It was not sent: the connection takes no more.
    Unsent,
    /// There was none: the connection is of no more use.
    Over {
        /// The server sent something, and had not been asked for it.
        unasked: bool,
    },
}

/// Reads go here. Larger than what a socket holds, so that one read empties it.
const SCRATCH_BYTES: usize = 512 << 10;
/// Events that are taken at a time.
const EVENTS: usize = 256;
/// Due requests that are started before answers are looked at.
const STARTS: usize = 64;
/// Numbers that a thread of the closed loop takes at a time: the counter is everybody's, and its line of memory goes from core to core.
const NUMBERS: u64 = 64;
/// So many deadlines of requests that have ended are no burden.
const DEADLINES_MIN: usize = 4_096;
/// How long a user of the closed loop waits after a connection that could not be made: else it would do nothing but that.
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

    /// Does its part of the load.
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

    /// When something has to be started next, to the microsecond.
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
        // Nothing is under way: nobody will give a connection back to those who wait for one.
        self.report.unsent += self.waiting_requests();
        true
    }

    fn waiting_requests(&self) -> u64 {
        self.backlog.iter().map(|job| u64::from(job.calls.max(1))).sum()
    }

    /// The user has had enough: what is under way is lost.
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
