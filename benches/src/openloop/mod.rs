//! The open loop: requests start by the clock, whether or not earlier ones have been answered. Latency counts
//! from the due time. A closed loop would wait together with the balancer and omit that waiting time.
//!
//! It uses one thread and one epoll instance. It supports only plain HTTP/1.1 responses with Content-Length,
//! as the origin sends them.

mod connection;
mod schedule;

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use rustix::thread::set_current_timer_slack;

use crate::error::{Context, Error, Result};
use connection::{Connection, Progress};
pub(crate) use schedule::Arrivals;
use schedule::Schedule;

use crate::stalls::{self, Stalls};

/// Parameters of a load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) address: SocketAddr,
    pub(crate) path: &'static str,
    pub(crate) rate_per_s: f64,
    pub(crate) arrivals: Arrivals,
    pub(crate) duration: Duration,
    /// Number of connections, which are opened before the clock starts. A request that is due while all are
    /// busy waits, and its waiting time counts.
    pub(crate) connections: usize,
}

/// Result of a load.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Due time and time of the last byte of each answered request, in nanoseconds of CLOCK_MONOTONIC.
    pub(crate) answered: Vec<Range<u64>>,
    pub(crate) due: u64,
    /// Due time and start of each request that this program started over 1 ms late although a connection was
    /// free, in nanoseconds of CLOCK_MONOTONIC.
    pub(crate) late: Vec<Range<u64>>,
    /// Sum of the delays of all requests that are due to this program or the machine.
    pub(crate) delay: Duration,
}

impl Outcome {
    /// Returns whether the schedule was kept: at most 1% of the starts were late and at least 99% were
    /// answered. Other runs say nothing.
    pub(crate) fn is_valid(&self) -> bool {
        self.late.len() as u64 * 100 <= self.due && self.is_answered()
    }

    /// Removes requests that were due around a stall of the machine.
    pub(crate) fn outside(mut self, stalls: &Stalls) -> Self {
        let before = self.answered.len();
        self.answered.retain(|request| !stalls.spoil(request.start));
        self.late.retain(|request| !stalls.spoil(request.start));
        self.due -= (before - self.answered.len()) as u64;
        self
    }

    /// Returns the latencies from due time to last byte, ascending, in nanoseconds.
    pub(crate) fn latencies_ns(&self) -> Vec<u64> {
        let mut latencies: Vec<_> = self.answered.iter().map(|it| it.end - it.start).collect();
        latencies.sort_unstable();
        latencies
    }

    /// Returns whether the last response came at most `longest` after the last due time, so that no backlog
    /// had built up.
    pub(crate) fn kept_pace(&self, longest: Duration) -> bool {
        let last_due = self.answered.iter().map(|it| it.start).max().unwrap_or(0);
        let last_answer = self.answered.iter().map(|it| it.end).max().unwrap_or(0);
        u128::from(last_answer.saturating_sub(last_due)) <= longest.as_nanos()
    }

    /// Returns whether at least 99% of the requests were answered.
    pub(crate) fn is_answered(&self) -> bool {
        self.answered.len() as u64 * 100 >= self.due * 99
    }

    /// Returns the mean delay of starts in seconds.
    pub(crate) fn mean_delay_s(&self) -> f64 {
        self.delay.as_secs_f64() / (self.due as f64).max(1.0)
    }
}

/// Delay above which a start counts as late.
const LATE: Duration = Duration::from_millis(1);

/// Time after the last due time in which the last responses must arrive.
const GRACE: Duration = Duration::from_secs(2);

/// Runs the load and waits for the responses.
///
/// # Errors
/// If a connection fails or a response is not a 200, because the measurement would be meaningless.
pub(crate) fn run(load: &Load) -> Result<Outcome> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).context("epoll")?;
    let open = |at: usize| -> Result<Connection> {
        let connection = Connection::open(load.address, load.path)?;
        let token = epoll::EventData::new_u64(at as u64);
        epoll::add(&epoll, connection.stream(), token, epoll::EventFlags::IN | epoll::EventFlags::RDHUP)
            .context("epoll")?;
        Ok(connection)
    };
    let mut connections = (0..load.connections).map(open).collect::<Result<Vec<_>>>()?;
    // Closed connections are opened again only when they are needed, because opening takes time.
    let mut is_closed = vec![false; load.connections];
    let mut free: Vec<usize> = (0..connections.len()).collect();
    let mut schedule = Schedule::new(load.arrivals, load.rate_per_s, load.duration);
    let mut answered = Vec::with_capacity(schedule.total() as usize);
    let mut events = Vec::with_capacity(load.connections);
    let (mut late, mut delay) = (Vec::new(), Duration::ZERO);
    // By default the kernel may wake a thread 50 us late, which would delay due requests. If this call is not
    // permitted, all contestants have that delay in their latencies.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let (start, start_ns) = (Instant::now(), stalls::now_ns());
    let at_ns =
        |elapsed: Duration| start_ns + u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX - start_ns);
    // Set when connections ran out in this pass: delays are then due to the balancer.
    let mut starved = false;
    loop {
        let now = start.elapsed();
        while let Some(due) = schedule.peek().filter(|&due| due <= now) {
            let Some(at) = free.pop() else {
                starved = true;
                break;
            };
            if !starved {
                let now = start.elapsed();
                let delayed = now.saturating_sub(due);
                delay += delayed;
                if delayed > LATE {
                    late.push(at_ns(due)..at_ns(now));
                }
            }
            if is_closed[at] {
                connections[at] = open(at)?;
                is_closed[at] = false;
            }
            connections[at].ask(due)?;
            schedule.advance();
        }
        if free.len() == connections.len() && schedule.peek().is_none() {
            break;
        }
        let now = start.elapsed();
        if now > load.duration + GRACE {
            break;
        }
        let next = schedule.peek().filter(|_| !free.is_empty()).unwrap_or(now + GRACE);
        let wait = next.saturating_sub(now).try_into().context("a waiting time")?;
        wait_exactly(&epoll, &mut events, &wait).context("epoll")?;
        starved &= schedule.peek().is_some_and(|due| due <= now);
        for event in events.drain(..) {
            let at = event.data.u64() as usize;
            let connection = connections.get_mut(at).ok_or_else(|| Error::new("epoll: an unknown event"))?;
            match connection.read()? {
                Progress::Waiting => {}
                Progress::Answered { due } => {
                    answered.push(at_ns(due)..at_ns(start.elapsed().max(due)));
                    // Last in, first out: the balancer sees as many connections as the rate needs, as from
                    // real clients.
                    free.push(at);
                }
                Progress::Closed => {
                    epoll::delete(&epoll, connection.stream()).context("epoll")?;
                    is_closed[at] = true;
                }
                Progress::Unheard { due } => {
                    epoll::delete(&epoll, connection.stream()).context("epoll")?;
                    connections[at] = open(at)?;
                    connections[at].ask(due)?;
                }
            }
        }
    }
    let _ = set_current_timer_slack(None);
    Ok(Outcome { answered, due: schedule.total(), late, delay })
}

/// Waits for events, at most for the given time. epoll_wait(2) would round it up to milliseconds. That would
/// add a millisecond for a fast balancer, which has no response in flight when the next request is due, and
/// nothing for a slow one.
fn wait_exactly(
    epoll: &OwnedFd,
    events: &mut Vec<epoll::Event>,
    wait: &Timespec,
) -> std::result::Result<(), Errno> {
    const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut [PollFd::new(epoll, PollFlags::IN)], Some(wait)) {
        Ok(0) | Err(Errno::INTR) => Ok(()),
        Ok(_) => epoll::wait(epoll, spare_capacity(events), Some(&AT_ONCE)).map(drop),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// Responds to every request of every connection after `delay`.
    fn serve(delay: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let mut request = [0; 1024];
                    while stream.read(&mut request).is_ok_and(|bytes| bytes > 0) {
                        std::thread::sleep(delay);
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                    }
                });
            }
        });
        address
    }

    fn load(address: SocketAddr, rate_per_s: f64, connections: usize) -> Load {
        Load {
            address,
            path: "/",
            rate_per_s,
            arrivals: Arrivals::Even,
            duration: Duration::from_millis(200),
            connections,
        }
    }

    #[test]
    fn every_due_request_is_answered_once() {
        let outcome = run(&load(serve(Duration::ZERO), 500.0, 8)).unwrap();
        assert_eq!((outcome.due, outcome.answered.len()), (100, 100));
    }

    #[test]
    fn waiting_for_a_free_connection_counts_as_latency() {
        // One connection to this server carries only ten requests a second; a closed loop would report 100 ms
        // for each.
        let outcome = run(&load(serve(Duration::from_millis(100)), 50.0, 1)).unwrap();
        assert_eq!(outcome.due, 10);
        let worst = outcome.latencies_ns().last().copied().unwrap();
        assert!(worst > 500_000_000, "worst latency {worst} ns");
    }

    #[test]
    fn who_waits_for_less_than_a_millisecond_does_not_sleep_for_one() {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let wait = Timespec { tv_sec: 0, tv_nsec: 200_000 };
        let slept = |_| {
            let begun = Instant::now();
            wait_exactly(&epoll, &mut Vec::with_capacity(1), &wait).unwrap();
            begun.elapsed()
        };
        // The machine may oversleep sometimes, but not always.
        let shortest = (0..100).map(slept).min().unwrap();
        assert!((200..1_000).contains(&shortest.as_micros()), "{shortest:?}");
    }

    #[test]
    fn a_connection_that_was_closed_without_a_request_is_made_again_when_it_is_needed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let mut request = [0; 1024];
            drop(listener.accept().unwrap());
            let (mut first, _) = listener.accept().unwrap();
            assert!(first.read(&mut request).unwrap() > 0);
            // The second request is due while the first one waits.
            let (mut second, _) = listener.accept().unwrap();
            assert!(second.read(&mut request).unwrap() > 0);
            for stream in [&mut first, &mut second] {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            }
            let _ = first.read(&mut request);
        });
        let load = Load { duration: Duration::from_secs(1), ..load(address, 2.0, 2) };
        let outcome = run(&load).unwrap();
        assert_eq!((outcome.due, outcome.answered.len()), (2, 2));
        server.join().unwrap();
    }

    #[test]
    fn a_request_on_a_kept_connection_that_was_just_closed_is_asked_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let mut request = [0; 1024];
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            let (mut first, _) = listener.accept().unwrap();
            assert!(first.read(&mut request).unwrap() > 0);
            first.write_all(answer).unwrap();
            // Closing with an unread request sends a reset.
            let mut one = [0];
            assert_eq!(first.peek(&mut one).unwrap(), 1);
            drop(first);
            let (mut second, _) = listener.accept().unwrap();
            assert!(second.read(&mut request).unwrap() > 0);
            second.write_all(answer).unwrap();
            let _ = second.read(&mut request);
        });
        let load = Load { duration: Duration::from_secs(1), ..load(address, 2.0, 1) };
        let outcome = run(&load).unwrap();
        assert_eq!((outcome.due, outcome.answered.len()), (2, 2));
        server.join().unwrap();
    }

    #[test]
    fn a_run_whose_schedule_was_not_kept_is_not_valid() {
        let outcome = |answered, late| Outcome {
            answered: vec![1_000..2_000; answered],
            due: 100,
            late: vec![1_000..3_000; late],
            delay: Duration::ZERO,
        };
        assert!(outcome(99, 1).is_valid());
        assert!(!outcome(98, 0).is_valid());
        assert!(!outcome(100, 2).is_valid());
    }

    #[test]
    fn answers_that_piled_up_did_not_keep_pace() {
        let outcome = |last: Range<u64>| Outcome {
            answered: vec![0..9_000_000, last],
            due: 2,
            late: Vec::new(),
            delay: Duration::ZERO,
        };
        let longest = Duration::from_millis(1);
        assert!(outcome(9_000_000..9_900_000).kept_pace(longest));
        assert!(!outcome(9_000_000..10_100_000).kept_pace(longest));
    }

    #[test]
    fn what_was_due_around_the_time_when_the_machine_stood_still_is_left_out() {
        let outcome = Outcome {
            answered: vec![100..200, 30_000_000..30_000_100, 33_000_000..33_000_100, 90_000_000..90_000_001],
            due: 5,
            late: vec![30_000_000..30_000_090, 90_000_000..90_000_001],
            delay: Duration::ZERO,
        };
        let left = outcome.outside(&Stalls::new([34_000_000..34_500_000, 60_000_000..60_000_001].into()));
        assert_eq!((left.latencies_ns(), left.due, left.late.len()), (vec![1, 100], 3, 1));
    }
}
