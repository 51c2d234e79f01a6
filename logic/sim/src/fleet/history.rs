//! History files: a heading, and a row for each round.

use std::io::BufRead;

use super::demand::{Demand, DemandError};
use crate::replay::{Lines, csv_fields};

/// Where in a row things stand.
struct Columns {
    time: usize,
    rate: Option<usize>,
    requests: Option<usize>,
}

/// Names of the time in seconds, in the order of preference, and of what came since the row before.
const TIMES: [&str; 4] = ["elapsed_s", "elapsed", "timestamp", "time_s"];
const RATES: [&str; 2] = ["rate_per_s", "rate"];
const REQUESTS: [&str; 2] = ["requests", "difference"];

/// Whether a line names the columns of a history: a time, and a rate or a number of requests.
pub(super) fn is_heading(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| Columns::of(line).is_some())
}

/// The rate of each second from the first row on. A row tells of the time since the row before.
pub(super) fn rates(text: &mut dyn BufRead) -> Result<Vec<f64>, DemandError> {
    let mut lines = Lines::new(text);
    let columns = lines.next()?.and_then(Columns::of);
    let columns = columns.ok_or_else(|| DemandError::general("has no heading"))?;
    let mut rates = Vec::new();
    let mut began: Option<f64> = None;
    let mut last = 0.0;
    while let Some(line) = lines.next()? {
        let row = columns.row(line);
        let (time, rate, requests) = row.map_err(|cause| lines.error(cause))?;
        let Some(began) = began else {
            (began, last) = (Some(time), time);
            continue;
        };
        if time <= last {
            return Err(lines.error(format!("{time} s is not after {last} s")).into());
        }
        let rate = match (rate, requests) {
            (Some(rate), _) => Some(rate),
            (None, Some(requests)) => Some(requests / (time - last)),
            // Nothing was measured: it went on as before.
            (None, None) => rates.last().copied(),
        };
        let end = (time - began).round();
        if end >= Demand::SECONDS_MAX as f64 {
            return Err(DemandError::too_long());
        }
        rates.resize(rates.len().max(end as usize), rate.unwrap_or(0.0));
        last = time;
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
        (rate.is_some() || requests.is_some()).then_some(Self { time, rate, requests })
    }

    /// Time, rate and requests of a row.
    fn row(&self, line: &str) -> Result<(f64, Option<f64>, Option<f64>), String> {
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
        Ok((time, rate, of(self.requests)?))
    }
}
