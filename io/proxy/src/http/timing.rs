//! Times of the stages of a request.

use std::time::{Duration, Instant};

/// Times at which a request reached its stages, in microseconds since its head was complete; `NOT` = never.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// Time at which the head was complete.
    pub(crate) start: Instant,
    /// Time from the first byte of the head (or the acceptance of the connection) to its last.
    pub(crate) head_us: u32,
    /// Time at which the present request to a server began. It is later than the head if this is a second
    /// subrequest.
    asked_us: u32,
    /// Time at which it entered its present queue.
    queued_us: u32,
    /// Time spent in the queues that it has left.
    waited_us: u32,
    chosen_us: u32,
    connected_us: u32,
    request_sent_us: u32,
    first_byte_us: u32,
    /// Clock value that `first_byte_us` was computed from.
    first_byte_at: Instant,
}

const NOT: u32 = u32::MAX;

impl Timing {
    /// Creates the timing; `head_began` is the time of the head's first byte.
    pub(crate) fn new(start: Instant, head_began: Instant) -> Self {
        Self::with_head_us(start, micros(between(head_began, start)))
    }

    fn with_head_us(start: Instant, head_us: u32) -> Self {
        Self {
            start,
            head_us,
            asked_us: 0,
            queued_us: NOT,
            waited_us: 0,
            chosen_us: NOT,
            connected_us: NOT,
            request_sent_us: NOT,
            first_byte_us: NOT,
            first_byte_at: start,
        }
    }

    /// Begins a second request to a server for the same client request, and forgets the stages that the first
    /// one reached.
    pub(crate) fn ask_again(&mut self, now: Instant) {
        let asked_us = self.elapsed(now);
        *self = Self { asked_us, ..Self::with_head_us(self.start, self.head_us) };
    }

    /// Returns the time at which the present request to a server began.
    pub(crate) fn asked(&self) -> Instant {
        self.start + Duration::from_micros(self.asked_us.into())
    }

    /// Returns the time since then, so that the second request does not include the time for the body before
    /// it. `elapsed_us`: time since the head was complete.
    pub(crate) fn since_asked(&self, elapsed_us: u32) -> u32 {
        elapsed_us.saturating_sub(self.asked_us)
    }

    pub(crate) fn queued(&mut self, now: Instant) {
        self.queued_us = self.elapsed(now);
    }

    /// Records that it has left its queue. Returns the time that it spent there.
    pub(crate) fn left_queue(&mut self, now: Instant) -> Duration {
        let stay_us = match std::mem::replace(&mut self.queued_us, NOT) {
            NOT => 0,
            queued_us => self.elapsed(now).saturating_sub(queued_us),
        };
        self.waited_us = self.waited_us.saturating_add(stay_us);
        Duration::from_micros(stay_us.into())
    }

    pub(crate) fn chosen(&mut self, now: Instant) {
        // Without a queue or a retry, choosing takes so little time that the clock is not read.
        self.chosen_us =
            if self.waited_us > 0 || self.chosen_us != NOT { self.elapsed(now) } else { self.asked_us };
        // The stages of an earlier try do not count for this one.
        self.connected_us = NOT;
        self.request_sent_us = NOT;
        self.first_byte_us = NOT;
    }

    pub(crate) fn connected(&mut self, now: Instant) {
        self.connected_us = self.elapsed(now);
    }

    pub(crate) fn request_sent(&mut self, now: Instant) {
        self.request_sent_us = self.elapsed(now);
    }

    /// Returns the time since the request was sent, if it was.
    pub(crate) fn since_sent(&self, now: Instant) -> Option<u32> {
        (self.request_sent_us != NOT).then(|| self.elapsed(now).saturating_sub(self.request_sent_us))
    }

    pub(crate) fn first_byte(&mut self, now: Instant) {
        (self.first_byte_us, self.first_byte_at) = (self.elapsed(now), now);
    }

    pub(crate) fn first_byte_came(&self) -> bool {
        self.first_byte_us != NOT
    }

    /// Returns the time spent in queues, including those of earlier tries.
    pub(crate) fn waited(&self, now: Instant) -> Duration {
        let here_us = match self.queued_us {
            NOT => 0,
            queued_us => self.elapsed(now).saturating_sub(queued_us),
        };
        Duration::from_micros(self.waited_us.saturating_add(here_us).into())
    }

    /// Returns the time spent in the queue.
    pub(crate) fn queue(&self) -> Option<u32> {
        difference(self.asked_us, self.chosen_us)
    }

    /// Returns the time to get a connection.
    pub(crate) fn connect(&self) -> Option<u32> {
        difference(self.chosen_us, self.connected_us)
    }

    /// Returns the time from the connection to the first byte of the response.
    pub(crate) fn response(&self) -> Option<u32> {
        difference(self.connected_us, self.first_byte_us)
    }

    /// Returns the time from the last byte of the request to the first byte of the response.
    pub(crate) fn server(&self) -> Option<u32> {
        let sent = if self.request_sent_us == NOT { self.connected_us } else { self.request_sent_us };
        difference(sent, self.first_byte_us)
    }

    /// Returns the time since the head was complete.
    pub(crate) fn elapsed(&self, now: Instant) -> u32 {
        // A short response ends in the turn in which it began.
        if now == self.first_byte_at && self.first_byte_came() {
            return self.first_byte_us;
        }
        micros(between(self.start, now))
    }
}

/// Returns the difference of two times, and zero without a calculation if both are from one reading of the
/// clock. That is the usual case, because a request does most of its work in the turn in which it begins.
fn between(from: Instant, to: Instant) -> Duration {
    if from == to { Duration::ZERO } else { to.saturating_duration_since(from) }
}

fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(NOT - 1)
}

fn difference(from: u32, to: u32) -> Option<u32> {
    (from != NOT && to != NOT).then(|| to.saturating_sub(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_question_has_a_clock_of_its_own() {
        let begun = Instant::now();
        let start = begun + Duration::from_millis(1);
        let at = |ms| start + Duration::from_millis(ms);
        let mut timing = Timing::new(start, begun);
        timing.chosen(at(0));
        timing.connected(at(1));
        timing.request_sent(at(2));
        timing.first_byte(at(5));
        assert_eq!((timing.queue(), timing.server()), (Some(0), Some(3_000)));
        assert_eq!([at(0), at(3), at(5), at(6)].map(|at| timing.elapsed(at)), [0, 3_000, 5_000, 6_000]);
        assert_eq!(timing.since_asked(timing.elapsed(at(6))), 6_000);
        // The body has taken a minute.
        timing.ask_again(at(60_000));
        assert!(!timing.first_byte_came() && timing.since_sent(at(60_001)).is_none());
        assert_eq!(timing.asked(), at(60_000));
        timing.chosen(at(60_001));
        timing.connected(at(60_002));
        timing.request_sent(at(60_002));
        timing.first_byte(at(60_009));
        assert_eq!((timing.queue(), timing.connect(), timing.server()), (Some(0), Some(2_000), Some(7_000)));
        assert_eq!((timing.elapsed(at(60_010)), timing.head_us), (60_010_000, 1_000));
        assert_eq!(timing.since_asked(timing.elapsed(at(60_010))), 10_000);
        timing.ask_again(at(70_000));
        timing.queued(at(70_000));
        assert_eq!(timing.left_queue(at(70_004)), Duration::from_millis(4));
        timing.chosen(at(70_004));
        assert_eq!(timing.queue(), Some(4_000));
    }

    #[test]
    fn what_an_earlier_try_reached_does_not_count_for_the_next() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut timing = Timing::new(start, start);
        timing.chosen(at(0));
        timing.connected(at(1));
        timing.first_byte(at(3));
        timing.chosen(at(10));
        assert!(!timing.first_byte_came() && timing.server().is_none());
        timing.connected(at(11));
        timing.first_byte(at(15));
        assert_eq!((timing.connect(), timing.server()), (Some(1_000), Some(4_000)));
    }

    #[test]
    fn what_it_has_waited_is_that_of_all_its_tries() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut timing = Timing::new(start, start);
        assert_eq!(timing.waited(at(5)), Duration::ZERO);
        timing.queued(at(10));
        assert_eq!(timing.waited(at(40)), Duration::from_millis(30));
        assert_eq!(timing.left_queue(at(50)), Duration::from_millis(40));
        timing.chosen(at(50));
        assert_eq!(timing.waited(at(500)), Duration::from_millis(40), "at a server it does not wait");
        timing.queued(at(600));
        assert_eq!(timing.waited(at(700)), Duration::from_millis(140));
        assert_eq!(timing.left_queue(at(700)), Duration::from_millis(100));
        assert_eq!(timing.left_queue(at(800)), Duration::ZERO, "once is enough");
    }
}
