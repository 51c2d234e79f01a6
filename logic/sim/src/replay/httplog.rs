//! Logs in HAProxy's formats.

use weir_config::simulation::LoggedTimes;

use super::date;
use super::line::{Entry, Rules, Verdict, client, target};

/// Returns true if a line has the form `client:port [date.ms] listener pool/server ...`.
pub(super) fn looks_like(line: &str) -> bool {
    split(line).is_some_and(|(_, written, rest)| {
        written.contains('.') && rest.split(' ').nth(1).is_some_and(|server| server.contains('/'))
    })
}

/// Parses HAProxy's `option httplog` and `option tcplog`, with or without a syslog header.
pub(super) fn parse(line: &str, rules: &Rules) -> Result<Verdict, String> {
    let (name, written, rest) = split(line).ok_or("has no [date] behind the client")?;
    let (at_ns, is_coarse) = date::clf(written).ok_or_else(|| format!("{written:?} is no date"))?;
    let mut fields = rest.split_ascii_whitespace();
    let (_listener, server) = (fields.next(), fields.next().ok_or("has no pool/server")?);
    let timers = fields.next().ok_or("has no timers")?;
    let service_ns = service_ns(timers, rules.times).ok_or_else(|| format!("{timers:?} are no timers"))?;
    if server.ends_with("/<NOSRV>") {
        return Ok(Verdict::NoServer);
    }
    // HTTP lines have the status before the bytes.
    let is_http = timers.split('/').count() == 5;
    let bytes = fields.nth(usize::from(is_http));
    let bytes = bytes.and_then(|bytes| bytes.trim_start_matches('+').parse().ok());
    let request =
        line.split_once('"').and_then(|(_, request)| request.rsplit_once('"')).map(|(request, _)| request);
    let name = name.rsplit_once(':').map_or(name, |(address, _)| address);
    let uri = request.and_then(target);
    let class = request.and_then(|request| rules.class_of(request));
    Ok(Verdict::Entry(Entry { at_ns, is_coarse, service_ns, bytes, client: client(name), uri, class }))
}

/// Splits a line into the client, the date, and the rest.
fn split(line: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = line.split_once(" [")?;
    let (written, rest) = rest.split_once("] ")?;
    Some((before.rsplit(' ').next()?, written, rest))
}

/// Returns the server's time from `TR/Tw/Tc/Tr/Ta` or `Tw/Tc/Tt`: the total without what came before the
/// server, or `Tr`.
///
/// The outer `None` = the field has no timers. The inner one = the request did not reach a server, or the
/// line does not say.
fn service_ns(timers: &str, times: LoggedTimes) -> Option<Option<u64>> {
    let read = timers.split('/').map(|timer| timer.trim_start_matches('+').parse::<i64>().ok());
    let timers: Vec<i64> = read.collect::<Option<_>>()?;
    let (before, first_byte, all) = match timers.as_slice() {
        [head, wait, connect, first_byte, all] => ([*head, *wait, *connect], Some(*first_byte), *all),
        [wait, connect, all] => ([0, *wait, *connect], None, *all),
        _ => return None,
    };
    if before.iter().any(|timer| *timer < 0) {
        return Some(None);
    }
    let took_ms = match times {
        LoggedTimes::FirstByte => first_byte,
        LoggedTimes::Logged | LoggedTimes::Drawn => {
            Some(before.iter().fold(all, |left, timer| left.saturating_sub(*timer)))
        }
    };
    // -1 = the request did not get that far.
    let took_ms = took_ms.and_then(|ms| u64::try_from(ms).ok());
    Some(took_ms.and_then(|ms| ms.checked_mul(1_000_000)))
}
