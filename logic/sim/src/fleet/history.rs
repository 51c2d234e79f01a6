//! History files: a heading, and one row for each round.

use std::io::BufRead;

use super::demand::{Demand, DemandError};
use crate::replay::{Lines, csv_fields};

/// Indices of the columns in a row.
struct Columns {
    time: usize,
    /// The time of day, if `time` counts from a start.
    wall: Option<usize>,
    rate: Option<usize>,
    requests: Option<usize>,
    /// Counter of requests, in files whose rows hold one second each.
    total: Option<usize>,
}

/// Values of a row.
struct Read {
    time: f64,
    wall: Option<f64>,
    rate: Option<f64>,
    requests: Option<f64>,
    total: Option<f64>,
}

/// Names of the time column in seconds, in the order of preference. Below: names of the rate, and of the
/// requests since the previous row.
const TIMES: [&str; 4] = ["elapsed_s", "elapsed", WALL, "time_s"];
const WALL: &str = "timestamp";
const RATES: [&str; 2] = ["rate_per_s", "rate"];
const REQUESTS: [&str; 2] = ["requests", "difference"];
const TOTAL: &str = "requests_total";
/// A history of Weir with this column holds all requests since the previous row in each row.
const SINCE: &str = "wanted";

/// Returns true if a line names the columns of a history: a time, and a rate or a number of requests.
pub(super) fn is_heading(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| Columns::of(line).is_some())
}

/// Returns the rate of each second from the first row on. A row describes the time since the previous row.
pub(super) fn rates(text: &mut dyn BufRead) -> Result<Vec<f64>, DemandError> {
    let mut lines = Lines::new(text);
    let columns = lines.next()?.and_then(Columns::of);
    let columns = columns.ok_or_else(|| DemandError::general("has no heading"))?;
    let mut rates = Vec::new();
    let mut before: Option<Read> = None;
    // Time since the first row.
    let mut passed = 0.0;
    while let Some(line) = lines.next()? {
        let row = columns.row(line).map_err(|cause| lines.error(cause))?;
        let Some(last) = &before else {
            before = Some(row);
            continue;
        };
        let counted =
            row.total.zip(last.total).map(|(now, then)| now - then).filter(|counted| *counted >= 0.0);
        let (since, counted) = match row.time - last.time {
            since if since > 0.0 => (since, counted),
            // The program that wrote the file restarted; the time of day continued.
            _ => match row.wall.zip(last.wall).map(|(now, then)| now - then) {
                Some(since) if since > 0.0 => (since, None),
                _ => {
                    return Err(lines.error(format!("{} s is not after {} s", row.time, last.time)).into());
                }
            },
        };
        let rate = match (counted, row.rate, row.requests) {
            (Some(counted), ..) => Some((counted / since).min(Demand::RATE_MAX)),
            (None, Some(rate), _) => Some(rate),
            (None, None, Some(requests)) => Some(requests / since),
            // Without a measurement, the previous rate continues.
            (None, None, None) => rates.last().copied(),
        };
        passed += since;
        let end = passed.round();
        if end >= Demand::SECONDS_MAX as f64 {
            return Err(DemandError::too_long());
        }
        rates.resize(rates.len().max(end as usize), rate.unwrap_or(0.0));
        before = Some(row);
    }
    Ok(rates)
}

impl Columns {
    fn of(heading: &str) -> Option<Self> {
        let fields = csv_fields(heading.trim().trim_start_matches('\u{feff}')).ok()?;
        let names: Vec<String> = fields.iter().map(|field| field.trim().to_ascii_lowercase()).collect();
        let at =
            |wanted: &[&str]| wanted.iter().find_map(|name| names.iter().position(|there| there == name));
        let (time, rate, requests) = (at(&TIMES)?, at(&RATES), at(&REQUESTS));
        let wall = at(&[WALL]).filter(|at| *at != time);
        let total = at(&[TOTAL]).filter(|_| at(&[SINCE]).is_none());
        (rate.is_some() || requests.is_some()).then_some(Self { time, wall, rate, requests, total })
    }

    fn row(&self, line: &str) -> Result<Read, String> {
        let fields = csv_fields(line)?;
        let number = |at: usize| -> Result<Option<f64>, String> {
            let text = fields.get(at).ok_or_else(|| format!("has {} fields only", fields.len()))?.trim();
            if text.is_empty() {
                return Ok(None);
            }
            let number: f64 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
            if !(0.0..1e12).contains(&number) {
                return Err(format!("{text} is out of range"));
            }
            Ok(Some(number))
        };
        let of = |at: Option<usize>| at.map_or(Ok(None), number);
        let time = number(self.time)?.ok_or("has no time")?;
        let rate = of(self.rate)?;
        if rate.is_some_and(|rate| rate > Demand::RATE_MAX) {
            return Err("the rate is out of range".to_owned());
        }
        // Other programs write a date instead of a number.
        let wall = self.wall.and_then(|at| number(at).ok()).flatten();
        Ok(Read { time, wall, rate, requests: of(self.requests)?, total: of(self.total)? })
    }
}
