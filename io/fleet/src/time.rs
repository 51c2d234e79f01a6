use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time as the services write it, in UTC: `2026-03-01T12:00:00Z`, with or without a fraction and the Z.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    let text = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00")).unwrap_or(text);
    let text = text.split_once('.').map_or(text, |(whole, _)| whole);
    let (date, time) = text.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let in_range = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !in_range {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(UNIX_EPOCH + Duration::from_secs(seconds))
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut parts = text.split(separator).map(|part| part.parse().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

/// Days from 1970-01-01 in the Gregorian calendar; years begin in March, so that the leap day comes last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_years = year * 365 + year / 4 - year / 100 + year / 400;
    let of_months = (153 * month + 2) / 5;
    // 719,468 days from 0000-03-01 to 1970-01-01.
    of_years + of_months + day - 1 - 719_468
}
