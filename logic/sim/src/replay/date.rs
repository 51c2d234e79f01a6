//! Dates in logs, converted to nanoseconds since 1970.

/// Parses `21/Nov/2026:08:48:21`, optionally with `.838` and ` +0100`. The flag is true if there is no
/// fraction.
pub fn clf(text: &str) -> Option<(u64, bool)> {
    let (date, zone) = text.split_once(' ').unwrap_or((text, "+0000"));
    let (day, rest) = date.split_once('/')?;
    let (month, rest) = rest.split_once('/')?;
    let (year, time) = rest.split_once(':')?;
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let seconds = days(number(year)?, month, number(day)?)? * 86_400;
    let (of_day_ns, is_coarse) = clock(time)?;
    let at_s = seconds.checked_sub(offset_s(zone)?)?;
    Some((u64::try_from(at_s).ok()?.checked_mul(1_000_000_000)?.checked_add(of_day_ns)?, is_coarse))
}

/// Parses an RFC 3339 date: `2026-11-21T08:48:21.838042Z`.
pub fn rfc3339(text: &str) -> Option<u64> {
    let (date, rest) = text.split_once(['T', ' '])?;
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let zone_at = rest.find(['Z', '+', '-'])?;
    let (time, zone) = rest.split_at(zone_at);
    let zone = if zone == "Z" { "+0000".to_owned() } else { zone.replace(':', "") };
    let seconds = days(number(year)?, number(month)?, number(day)?)? * 86_400;
    let at_s = seconds.checked_sub(offset_s(&zone)?)?;
    u64::try_from(at_s).ok()?.checked_mul(1_000_000_000)?.checked_add(clock(time)?.0)
}

/// Parses `08:48:21` or `08:48:21.838`: nanoseconds since midnight, and true if there is no fraction.
fn clock(text: &str) -> Option<(u64, bool)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let mut part = |max: i64| number(parts.next()?).filter(|value| (0..=max).contains(value));
    // A leap second is written as 60.
    let seconds = part(23)? * 3600 + part(59)? * 60 + part(60)?;
    if parts.next().is_some() || fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanos = format!("{fraction:0<9}").parse::<u64>().ok()?;
    Some((seconds as u64 * 1_000_000_000 + nanos, fraction.is_empty()))
}

/// Parses an offset such as `+0130` into seconds.
fn offset_s(zone: &str) -> Option<i64> {
    let (sign, digits) = zone.split_at_checked(1)?;
    let (hours, minutes) = digits.split_at_checked(2)?;
    let seconds = number(hours)? * 3600 + number(minutes)? * 60;
    match sign {
        "+" => Some(seconds),
        "-" => Some(-seconds),
        _ => None,
    }
}

/// Returns the days since 1970 in the Gregorian calendar. Years start in March, so that the leap day is the
/// last day.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1970..=2500).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let days_before_month = (153 * ((month + 9) % 12) + 2) / 5;
    Some(year * 365 + year / 4 - year / 100 + year / 400 + days_before_month + day - 1 - 719_468)
}

fn number(text: &str) -> Option<i64> {
    if text.is_empty() || text.len() > 6 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(clf("21/Nov/2026:08:48:21 +0000"), Some((1_795_250_901_000_000_000, true)));
        assert_eq!(clf("21/Nov/2026:09:48:21.838 +0100"), Some((1_795_250_901_838_000_000, false)));
        assert_eq!(rfc3339("2026-11-21T08:48:21.838042Z"), Some(1_795_250_901_838_042_000));
        assert_eq!(rfc3339("2026-11-21T03:48:21-05:00"), Some(1_795_250_901_000_000_000));
        assert_eq!(clf("01/Jan/1970:00:00:00 +0000"), Some((0, true)));
        assert_eq!(rfc3339("2000-02-29T00:00:00Z"), Some(951_782_400_000_000_000));
        assert_eq!(rfc3339("2000-03-01T00:00:00Z"), Some(951_868_800_000_000_000));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in
            ["", "21/Nov/2026", "21/Nov/2026:24:00:00 +0000", "21/Nvo/2026:08:48:21", "0/Nov/2026:08:48:21 x"]
        {
            assert_eq!(clf(text), None, "{text}");
        }
        for text in [
            "",
            "2026-11-21",
            "2026-11-21T08:48:21",
            "2026-13-21T08:48:21Z",
            "99999999-1-1T1:1:1Z",
            "é-ü-T+é",
        ] {
            assert_eq!(rfc3339(text), None, "{text}");
        }
    }
}
