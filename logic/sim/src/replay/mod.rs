//! Logs as workloads: lines are read as the simulation goes, put in order, and become arrivals.

mod csv;
pub mod date;
mod httplog;
mod json;
mod line;
mod lines;
mod ncsa;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io::BufRead;

use weir_config::simulation::Replay;
use weir_http::PathPattern;

use crate::rng::Rng;
pub(crate) use csv::fields as csv_fields;
pub(crate) use line::Entry;
use line::{Parser, Verdict};
pub(crate) use lines::Lines;
pub use lines::LogError;

/// A log that is being replayed.
pub(crate) struct Replayed<'l> {
    lines: Lines<'l>,
    parser: Parser,
    rng: Rng,
    speed: f64,
    /// Logs are written when requests end, not when they come: a window of lines is kept in the order of arrival.
    window: BinaryHeap<Pending>,
    numbers: u64,
    is_read: bool,
    first_ns: Option<u64>,
    last_ns: u64,
    skipped: u64,
}

/// What was waiting longest is the greatest.
#[derive(Debug)]
struct Pending {
    at_ns: u64,
    number: u64,
    entry: Entry,
}

/// Lines that are looked ahead. A request that was logged later than this many others is taken to come when the last of
/// them came.
const WINDOW_LINES: usize = 1 << 15;

impl<'l> Replayed<'l> {
    /// Requests for `static_paths` make servers fetch, as the pool's config has it.
    pub(crate) fn new(
        replay: &Replay,
        static_paths: &[PathPattern],
        log: &'l mut dyn BufRead,
        rng: Rng,
    ) -> Self {
        Self {
            lines: Lines::new(log),
            parser: Parser::new(replay.format, replay.times, static_paths),
            rng,
            speed: replay.speed,
            window: BinaryHeap::new(),
            numbers: 0,
            is_read: false,
            first_ns: None,
            last_ns: 0,
            skipped: 0,
        }
    }

    /// The next request and when it comes, in nanoseconds from the first.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Entry)>, LogError> {
        while !self.is_read && self.window.len() < WINDOW_LINES {
            self.read_line()?;
        }
        let Some(pending) = self.window.pop() else { return Ok(None) };
        let first_ns = *self.first_ns.get_or_insert(pending.at_ns);
        let since_ns = pending.at_ns.saturating_sub(first_ns);
        let at_ns = if self.speed == 1.0 { since_ns } else { (since_ns as f64 / self.speed).round() as u64 };
        self.last_ns = self.last_ns.max(at_ns);
        Ok(Some((self.last_ns, pending.entry)))
    }

    /// Lines that were passed over: no server was asked.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    fn read_line(&mut self) -> Result<(), LogError> {
        let Some(text) = self.lines.next()? else {
            self.is_read = true;
            return Ok(());
        };
        match self.parser.parse(text) {
            Ok(Verdict::Entry(entry)) => {
                // A log that knows seconds only would have all requests of a second come at its beginning.
                let within = if entry.is_coarse { self.rng.below(1_000_000_000) } else { 0 };
                self.numbers += 1;
                let at_ns = entry.at_ns.saturating_add(within);
                self.window.push(Pending { at_ns, number: self.numbers, entry });
            }
            Ok(Verdict::NoServer) => self.skipped += 1,
            Ok(Verdict::Heading) => {}
            Err(cause) => return Err(self.lines.error(cause)),
        }
        Ok(())
    }
}

impl Ord for Pending {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_ns, other.number).cmp(&(self.at_ns, self.number))
    }
}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Pending {}
