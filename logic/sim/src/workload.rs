//! The requests of a simulation, generated or read from a log.

use std::io::BufRead;
use std::net::IpAddr;

use weir_balance::RequestClass;
use weir_config::simulation::{Arrivals as Plan, LoggedTimes, PriorityShare, Scenario, Volume};

use crate::arrivals::Arrivals;
use crate::client::client_address;
use crate::replay::{LogError, Replayed};
use crate::rng::{Rng, Stream, mix};
use crate::service::Work;
use crate::zipf::Zipf;

/// A request on arrival.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Request {
    pub(crate) at_ns: u64,
    /// Work in nanoseconds at a server of speed 1.
    pub(crate) work_ns: f64,
    /// Kind of work that it causes at a server.
    pub(crate) class: RequestClass,
    /// Number of transferred bytes, if known.
    pub(crate) bytes: Option<u64>,
    pub(crate) client: IpAddr,
    /// Hash of the requested URI.
    pub(crate) uri: u64,
    /// Hash of another value in the request, such as a header; 0 = none.
    pub(crate) value: u64,
    /// Number of its priority in the scenario, from 1; 0 = no priority.
    pub(crate) priority: u32,
}

/// Requests in the order of their arrival, generated or read one at a time.
pub(crate) struct Workload<'l> {
    source: Source<'l>,
    work: Work,
    work_rng: Rng,
    clients: Zipf,
    client_rng: Rng,
    uris: Zipf,
    uri_rng: Rng,
    values: Option<Zipf>,
    value_rng: Rng,
    priorities: Vec<PriorityShare>,
    priority_rng: Rng,
    static_share: f64,
    class_rng: Rng,
}

enum Source<'l> {
    Drawn(Arrivals),
    Log { log: Box<Replayed<'l>>, times: LoggedTimes },
}

impl<'l> Workload<'l> {
    /// Creates the workload. `log` is the text to replay, if the scenario replays one.
    pub(crate) fn new(
        scenario: &Scenario,
        seed: u64,
        log: Option<&'l mut dyn BufRead>,
    ) -> Result<Self, LogError> {
        let source = match (&scenario.arrivals, log) {
            (Plan::Drawn { pattern, volume }, _) => {
                let per_second = match volume {
                    Volume::PerSecond(rate) => *rate,
                    Volume::Load(load) => load * scenario.capacity_per_s(),
                };
                Source::Drawn(Arrivals::new(pattern, per_second, seed))
            }
            (Plan::Replay(replay), Some(log)) => {
                let rng = Rng::new(seed, Stream::Arrivals);
                let log = Replayed::new(replay, &scenario.pool.static_paths, log, rng);
                Source::Log { log: Box::new(log), times: replay.times }
            }
            (Plan::Replay(_), None) => return Err(LogError::missing()),
        };
        Ok(Self {
            source,
            work: Work::new(&scenario.service),
            work_rng: Rng::new(seed, Stream::Work),
            clients: Zipf::new(scenario.clients),
            client_rng: Rng::new(seed, Stream::Clients),
            uris: Zipf::new(scenario.uris),
            uri_rng: Rng::new(seed, Stream::Uris),
            values: scenario.values.map(Zipf::new),
            value_rng: Rng::new(seed, Stream::Values),
            priorities: scenario.priorities.clone(),
            priority_rng: Rng::new(seed, Stream::Priorities),
            static_share: scenario.static_share,
            class_rng: Rng::new(seed, Stream::Classes),
        })
    }

    /// Returns the next request; `None` at the end of the log.
    pub(crate) fn next(&mut self) -> Result<Option<Request>, LogError> {
        let (at_ns, logged) = match &mut self.source {
            Source::Drawn(arrivals) => (arrivals.next(), None),
            Source::Log { log, .. } => match log.next()? {
                None => return Ok(None),
                Some((at_ns, line)) => (at_ns, Some(line)),
            },
        };
        let known_ns = match (&self.source, logged) {
            (Source::Log { times: LoggedTimes::Logged | LoggedTimes::FirstByte, .. }, Some(line)) => {
                line.service_ns
            }
            _ => None,
        };
        // All values are drawn in any case. Otherwise a value that only some lines have would shift the later
        // random numbers.
        let logged_bytes = logged.and_then(|line| line.bytes);
        let (drawn_ns, drawn_bytes) = self.work.draw(&mut self.work_rng, logged_bytes);
        let client = client_address(self.clients.draw(&mut self.client_rng));
        let drawn_class = self.draw_class();
        let class = logged.and_then(|line| line.class).unwrap_or(drawn_class);
        let uri = mix(self.uris.draw(&mut self.uri_rng).wrapping_add(1));
        let value = match &self.values {
            Some(values) => mix(values.draw(&mut self.value_rng).wrapping_add(1)),
            None => 0,
        };
        Ok(Some(Request {
            at_ns,
            work_ns: known_ns.map_or(drawn_ns, |ns| ns as f64),
            bytes: logged_bytes.or(drawn_bytes),
            client: logged.and_then(|line| line.client).unwrap_or(client),
            uri: logged.and_then(|line| line.uri).unwrap_or(uri),
            value,
            priority: self.draw_priority(),
            class,
        }))
    }

    fn draw_class(&mut self) -> RequestClass {
        // The number is above 0 and at most 1.
        match self.static_share > 0.0 && self.class_rng.unit() <= self.static_share {
            true => RequestClass::Static,
            false => RequestClass::Dynamic,
        }
    }

    fn draw_priority(&mut self) -> u32 {
        if self.priorities.is_empty() {
            return 0;
        }
        let mut left = self.priority_rng.unit();
        let drawn = self.priorities.iter().position(|part| {
            left -= part.share;
            left <= 0.0
        });
        drawn.map_or(0, |at| at as u32 + 1)
    }

    /// Returns the number of skipped lines of the log: requests that reached no server.
    pub(crate) fn skipped(&self) -> u64 {
        match &self.source {
            Source::Drawn(_) => 0,
            Source::Log { log, .. } => log.skipped(),
        }
    }
}
