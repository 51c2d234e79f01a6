//! Reads logs as schedules: the common and the combined log format, and Weir's JSON lines.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{BufRead, Read};

use serde::Deserialize;
use weir_sim::date;

use crate::rng::Rng;

/// Log that can be replayed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Logged {
    /// Due time of each request, in nanoseconds from the first, and the index of its target.
    pub requests: Vec<(u64, u32)>,
    /// Method and target of each distinct request.
    pub targets: Vec<(String, String)>,
    /// Skipped lines: their method modifies data, or they are not requests.
    pub skipped: u64,
}

/// Methods that are replayed. Other methods would repeat changes.
const SAFE: [&str; 4] = ["GET", "HEAD", "OPTIONS", "PROPFIND"];
const LINE_BYTES_MAX: u64 = 256 << 10;
const REQUESTS_MAX: usize = 50_000_000;
const TARGETS_MAX: usize = 1_000_000;

/// One line: time, method and target. `is_coarse` = the time is known only to the second.
struct Line<'t> {
    at_ns: u64,
    is_coarse: bool,
    method: Cow<'t, str>,
    target: Cow<'t, str>,
}

#[derive(Deserialize)]
struct Json<'t> {
    #[serde(borrow)]
    time: Cow<'t, str>,
    #[serde(borrow)]
    method: Option<Cow<'t, str>>,
    #[serde(borrow)]
    target: Option<Cow<'t, str>>,
}

/// Reads a log to replay it `speed` times as fast. If the log has only whole seconds, requests are spread
/// over each second at random. The spread is the same for the same seed.
///
/// # Errors
/// If a line cannot be parsed. The text names the line.
pub fn read_log(input: &mut dyn BufRead, speed: f64, seed: u64) -> Result<Logged, String> {
    let mut logged = Logged::default();
    let mut places: HashMap<(String, String), u32> = HashMap::new();
    let mut rng = Rng::new(seed);
    let mut bytes = Vec::new();
    let mut number = 0_u64;
    loop {
        bytes.clear();
        number += 1;
        let wrong = |cause: String| format!("line {number}: {cause}");
        let read = (&mut *input).take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes);
        if read.map_err(|cause| wrong(cause.to_string()))? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(bytes.trim_ascii());
        if text.is_empty() {
            continue;
        }
        let parsed = if text.starts_with('{') { json(&text) } else { ncsa(&text) };
        let Some(line) = parsed.map_err(wrong)? else {
            logged.skipped += 1;
            continue;
        };
        if !SAFE.contains(&line.method.as_ref()) || !line.target.starts_with('/') {
            logged.skipped += 1;
            continue;
        }
        let within = if line.is_coarse { rng.next() % 1_000_000_000 } else { 0 };
        let key = (line.method.into_owned(), line.target.into_owned());
        let place = match places.get(&key) {
            Some(place) => *place,
            None if logged.targets.len() < TARGETS_MAX => {
                let place = logged.targets.len() as u32;
                logged.targets.push(key.clone());
                places.insert(key, place);
                place
            }
            None => return Err(wrong(format!("more than {TARGETS_MAX} different targets"))),
        };
        if logged.requests.len() == REQUESTS_MAX {
            return Err(wrong(format!("more than {REQUESTS_MAX} requests")));
        }
        logged.requests.push((line.at_ns.saturating_add(within), place));
    }
    // Logs are written when requests end, not when they arrive.
    logged.requests.sort_by_key(|(at_ns, _)| *at_ns);
    let first = logged.requests.first().map_or(0, |(at_ns, _)| *at_ns);
    for (at_ns, _) in &mut logged.requests {
        *at_ns = ((*at_ns - first) as f64 / speed).round() as u64;
    }
    if logged.requests.is_empty() {
        return Err("has no request that can be sent again (GET, HEAD, OPTIONS, PROPFIND)".to_owned());
    }
    Ok(logged)
}

fn json(text: &str) -> Result<Option<Line<'_>>, String> {
    let line: Json<'_> =
        serde_json::from_str(text).map_err(|cause| format!("is not one of Weir's JSON lines: {cause}"))?;
    let at_ns = date::rfc3339(&line.time).ok_or_else(|| format!("{:?} is no time", line.time))?;
    let (Some(method), Some(target)) = (line.method, line.target) else { return Ok(None) };
    Ok(Some(Line { at_ns, is_coarse: false, method, target }))
}

fn ncsa(text: &str) -> Result<Option<Line<'_>>, String> {
    let (_, rest) = text.split_once('[').ok_or("has no [date]")?;
    let (written, rest) = rest.split_once(']').ok_or("has no end of its [date]")?;
    let (at_ns, is_coarse) = date::clf(written).ok_or_else(|| format!("{written:?} is no date"))?;
    let (_, rest) = rest.split_once('"').ok_or("has no \"request\"")?;
    let request = rest.split('"').next().unwrap_or(rest);
    let mut words = request.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    Ok(Some(Line { at_ns, is_coarse, method: method.into(), target: target.into() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, speed: f64) -> Result<Logged, String> {
        read_log(&mut text.as_bytes(), speed, 1)
    }

    #[test]
    fn requests_come_as_far_apart_as_in_the_log() {
        let text = concat!(
            r#"{"time":"2026-11-21T08:48:22.000000Z","method":"GET","target":"/b"}"#,
            "\n",
            r#"{"time":"2026-11-21T08:48:21.000000Z","method":"GET","target":"/a"}"#,
            "\n",
            r#"{"time":"2026-11-21T08:48:21.500000Z","method":"GET","target":"/b"}"#,
        );
        let logged = read(text, 2.0).unwrap();
        assert_eq!(logged.requests, [(0, 1), (250_000_000, 0), (500_000_000, 0)]);
        assert_eq!(logged.targets.len(), 2);
    }

    #[test]
    fn a_log_of_seconds_is_spread_over_them() {
        let line = "10.0.0.1 - - [21/Nov/2026:08:48:21 +0000] \"GET /x HTTP/1.1\" 200 5 \"-\" \"curl\"\n";
        let logged = read(&line.repeat(1_000), 1.0).unwrap();
        assert!(logged.requests.is_sorted());
        let in_first_half = logged.requests.iter().filter(|(at_ns, _)| *at_ns < 500_000_000).count();
        assert!((400..600).contains(&in_first_half), "{in_first_half}");
        assert_eq!(logged, read(&line.repeat(1_000), 1.0).unwrap());
    }

    #[test]
    fn what_changes_something_is_not_sent_again() {
        let line =
            |method: &str| format!("a - - [21/Nov/2026:08:48:21 +0000] \"{method} /x HTTP/1.1\" 200 5\n");
        let logged = read(&format!("{}{}{}", line("GET"), line("DELETE"), line("PUT")), 1.0).unwrap();
        assert_eq!((logged.requests.len(), logged.skipped), (1, 2));
        assert!(read(&line("DELETE"), 1.0).unwrap_err().contains("no request"));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_told() {
        assert!(read("nonsense\n", 1.0).unwrap_err().starts_with("line 1"));
        assert!(read("{}\n", 1.0).unwrap_err().starts_with("line 1"));
        assert!(read("a [yesterday] \"GET / HTTP/1.1\"\n", 1.0).unwrap_err().contains("yesterday"));
    }
}
