//! Parser of dates with time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Parses a UTC time as the services write it: `2026-03-01T12:00:00Z`, with or without a fraction and the Z.
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

/// Parses a time with any offset from UTC, or none: `2026-03-01T14:00:00.5+02:00`, `2026-03-01 12:00:00`.
/// Returns seconds since 1970.
pub(crate) fn parse_with_offset(text: &str) -> Option<u64> {
    let text = text.trim().replacen(' ', "T", 1);
    let (_, time) = text.split_once('T')?;
    let offset = time.rfind(['+', '-']).map(|at| text.split_at(text.len() - time.len() + at));
    let (text, offset_s) = match offset {
        Some((text, offset)) => {
            let (sign, offset) = offset.split_at(1);
            let (hours, minutes) = offset.split_once(':').or_else(|| offset.split_at_checked(2))?;
            let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
            (text, if sign == "-" { -minutes * 60 } else { minutes * 60 })
        }
        None => (text.as_str(), 0),
    };
    let seconds = parse(text)?.duration_since(UNIX_EPOCH).ok()?.as_secs();
    u64::try_from(i64::try_from(seconds).ok()?.checked_sub(offset_s)?).ok()
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut parts = text.split(separator).map(|part| part.parse().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

/// Returns the number of days since 1970-01-01 (Gregorian). The algorithm lets years begin in March, so that
/// the leap day is the last day of a year.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_years = year * 365 + year / 4 - year / 100 + year / 400;
    let of_months = (153 * month + 2) / 5;
    // There are 719,468 days from 0000-03-01 to 1970-01-01.
    of_years + of_months + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_any_offset() {
        for (text, seconds) in [
            ("2026-11-22T08:00:00Z", Some(1_795_334_400)),
            ("2026-11-22 08:00:00.75", Some(1_795_334_400)),
            ("2026-11-22T10:30:00.5+02:30", Some(1_795_334_400)),
            ("2026-11-22T03:00:00-0500", Some(1_795_334_400)),
            ("2026-11-22", None),
            ("2026-11-22T08:00:00+x", None),
            ("1970-01-01T00:00:00+01:00", None),
            ("T+", None),
        ] {
            assert_eq!(parse_with_offset(text), seconds, "{text}");
        }
    }
}
