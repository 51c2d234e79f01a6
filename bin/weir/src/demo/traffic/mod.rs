//! Makes steady traffic. Requests start on schedule, even if earlier ones have not been answered (an open
//! loop), and their latency counts from the scheduled time. A generator that waited for slow responses would
//! not measure that wait.
//!
//! It uses keep-alive connections, from the thread that runs the rest of the demo. It is a load generator for
//! watching, not for measuring.

mod connection;
mod pace;
mod tally;

use std::cell::{Ref, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use connection::Connection;
pub(super) use pace::Pace;
pub(super) use tally::Tally;
use tally::{Failure, Kind};

/// Targets that are requested in turn: a page, a small and a larger body. The methods are safe, so the
/// balancer may retry.
const TARGETS: [&str; 3] = ["/", "/bytes/1024", "/bytes/65536"];

/// Limit of requests in flight. Further requests wait until one has ended, and that delay counts.
const IN_FLIGHT_MAX: usize = 256;

/// Time limit for a response.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Idle time after which a connection is not used again, because the balancer may be about to close it.
const IDLE_MAX: Duration = Duration::from_secs(15);

/// Traffic that goes on until it is stopped or dropped.
#[derive(Debug)]
pub(super) struct Traffic {
    client: Rc<Client>,
    started: Instant,
    finished: Option<Instant>,
    pace: Pace,
    stop: watch::Sender<bool>,
    driver: JoinHandle<()>,
}

/// State that all requests share.
#[derive(Debug)]
struct Client {
    site: SocketAddr,
    requests: [String; TARGETS.len()],
    /// Idle connections, each with the time since which it is idle. The last one is taken first, so that the
    /// others can expire.
    idle: RefCell<Vec<(Connection, Instant)>>,
    tally: RefCell<Tally>,
}

impl Traffic {
    /// Sends requests to `site`. Must be called within a [`tokio::task::LocalSet`].
    pub(super) fn start(site: SocketAddr, pace: Pace) -> Self {
        let (stop, stopped) = watch::channel(false);
        let client = Rc::new(Client {
            site,
            requests: TARGETS.map(|target| request(site, target)),
            idle: RefCell::default(),
            tally: RefCell::default(),
        });
        let started = Instant::now();
        let driver = tokio::task::spawn_local(drive(Rc::clone(&client), started, pace, stopped));
        Self { client, started, finished: None, pace, stop, driver }
    }

    /// Returns the results so far.
    pub(super) fn tally(&self) -> Ref<'_, Tally> {
        self.client.tally.borrow()
    }

    /// Returns the requested rate.
    pub(super) fn rate_per_s(&self) -> u32 {
        self.pace.rate_per_s()
    }

    /// Returns the time from the start until the traffic was stopped, or until now.
    pub(super) fn elapsed(&self) -> Duration {
        self.finished.unwrap_or_else(Instant::now) - self.started
    }

    /// Returns true if about as many requests were sent as were due. Otherwise [`IN_FLIGHT_MAX`] of them were
    /// waiting for responses, and the measurement is not of the requested rate. Only for a steady pace.
    pub(super) fn has_kept_its_rate(&self) -> bool {
        let due = self.elapsed().as_secs_f64() * f64::from(self.rate_per_s());
        self.tally().requests() as f64 >= due * 0.95 - 1.0
    }

    /// Stops sending, and waits until every request was answered or has failed.
    pub(super) async fn finish(&mut self) {
        self.finished = Some(Instant::now());
        // Fails only if the driver has ended.
        let _ = self.stop.send(true);
        let _ = (&mut self.driver).await;
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

async fn drive(client: Rc<Client>, started: Instant, pace: Pace, mut stopped: watch::Receiver<bool>) {
    let mut requests = JoinSet::new();
    for number in 0.. {
        let due = started + pace.due(number);
        tokio::select! {
            biased;
            _ = stopped.changed() => break,
            () = sleep_until(due) => {}
        }
        while requests.try_join_next().is_some() {}
        if requests.len() >= IN_FLIGHT_MAX {
            requests.join_next().await;
        }
        requests.spawn_local(Rc::clone(&client).send(due, number));
    }
    while requests.join_next().await.is_some() {}
}

fn request(site: SocketAddr, target: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("GET {target} HTTP/1.1\r\nHost: {site}\r\nUser-Agent: weir-demo/{version}\r\n\r\n")
}

impl Client {
    async fn send(self: Rc<Self>, due: Instant, number: u64) {
        self.tally.borrow_mut().sent();
        let outcome = match timeout(ANSWER_MAX, self.exchange(number)).await {
            Ok(outcome) => outcome,
            Err(_) => {
                Err(Failure::new(Kind::Timeout, format!("no answer within {} s", ANSWER_MAX.as_secs())))
            }
        };
        self.tally.borrow_mut().ended(outcome, due.elapsed());
    }

    async fn exchange(&self, number: u64) -> Result<u16, Failure> {
        let mut connection = match self.take_idle() {
            Some(connection) => connection,
            None => Connection::open(self.site).await?,
        };
        let target = (number % TARGETS.len() as u64) as usize;
        let answer = connection.exchange(self.requests[target].as_bytes()).await?;
        if answer.keep_alive {
            self.idle.borrow_mut().push((connection, Instant::now()));
        }
        Ok(answer.status)
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        idle.retain(|(_, since)| since.elapsed() < IDLE_MAX);
        while let Some((connection, _)) = idle.pop() {
            if connection.is_open() {
                return Some(connection);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
