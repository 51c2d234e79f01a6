//! Logs as workloads: lines are read during the simulation, put in order, and turned into arrivals.

mod csv;
pub mod date;
mod httplog;
mod json;
mod line;
mod lines;
mod ncsa;
mod parser;
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
use line::Verdict;
pub(crate) use lines::Lines;
pub use lines::LogError;
use parser::Parser;

/// A log during its replay.
pub(crate) struct Replayed<'l> {
    lines: Lines<'l>,
    parser: Parser,
    rng: Rng,
    speed: f64,
    /// Window of lines in the order of arrival. It is needed because logs are written when requests end, not
    /// when they arrive.
    window: BinaryHeap<Pending>,
    numbers: u64,
    is_read: bool,
    first_ns: Option<u64>,
    last_ns: u64,
    skipped: u64,
}

/// A line of the window. The heap's greatest element is the earliest arrival.
#[derive(Debug)]
struct Pending {
    at_ns: u64,
    number: u64,
    entry: Entry,
}

/// Number of lines read ahead. A request logged later than this many others counts as arriving with the last
/// of them.
const WINDOW_LINES: usize = 1 << 15;

impl<'l> Replayed<'l> {
    /// Starts to replay a log. Requests for `static_paths` make servers fetch data, as in the pool's config.
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

    /// Returns the next request and its arrival, in nanoseconds from the first.
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

    /// Returns the number of skipped lines: requests that reached no server.
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
                // Spreads requests whose times are whole seconds; otherwise all requests of a second would
                // arrive at its start.
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
