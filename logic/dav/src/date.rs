//! Dates of HTTP and of WebDAV properties. Times are seconds since 1970-01-01 00:00 UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Last second of a four-digit year: 9999-12-31 23:59:59.
const LAST_S: i64 = 253_402_300_799;

/// First second of a four-digit year: 0000-01-01 00:00:00.
const FIRST_S: i64 = -62_167_219_200;

const DAY_S: i64 = 86_400;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Names of the weekdays, beginning with the day of 1970-01-01.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// Formats an HTTP date for Last-Modified and DAV:getlastmodified, e.g. `Sun, 06 Nov 1994 08:49:37 GMT` (RFC
/// 9110 section 5.6.7). Clamps times outside of the years 0 to 9999.
pub fn http_date(unix_s: i64) -> String {
    let Civil { year, month, day, hour, minute, second, weekday } = Civil::of(unix_s);
    let name = |names: &[&'static str], at: i64| {
        usize::try_from(at).ok().and_then(|at| names.get(at).copied()).unwrap_or_default()
    };
    let (weekday, month) = (name(&WEEKDAYS, weekday), name(&MONTHS, month - 1));
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Parses an HTTP date in any of the three forms that a recipient must accept (RFC 9110 section 5.6.7).
/// Accepts a date before 1970 only in the form that senders must use.
pub fn parse_http_date(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(crate::text::trim(text)).ok()?;
    match httpdate::parse_http_date(text) {
        Ok(time) => signed_s(time),
        Err(_) => parse_early(text),
    }
}

/// Formats an RFC 3339 date-time in UTC for DAV:creationdate, e.g. `1994-11-06T08:49:37Z` (RFC 4918 section
/// 15.1). Clamps times outside of the years 0 to 9999.
pub fn rfc3339(unix_s: i64) -> String {
    let Civil { year, month, day, hour, minute, second, .. } = Civil::of(unix_s);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A date and time of the Gregorian calendar, in UTC.
struct Civil {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    /// Index into [`WEEKDAYS`].
    weekday: i64,
}

impl Civil {
    /// Converts seconds since 1970, clamped to the years 0 to 9999 (Howard Hinnant, "chrono-Compatible
    /// Low-Level Date Algorithms", `civil_from_days`).
    fn of(unix_s: i64) -> Self {
        let unix_s = unix_s.clamp(FIRST_S, LAST_S);
        let (days, second) = (unix_s.div_euclid(DAY_S), unix_s.rem_euclid(DAY_S));
        // Days since 0000-03-01, in eras of 400 years, which have 146,097 days each.
        let from_march = days + 719_468;
        let (era, of_era) = (from_march.div_euclid(146_097), from_march.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * of_year + 2) / 153;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        Self {
            year: era * 400 + year_of_era + i64::from(month <= 2),
            month,
            day: of_year - (153 * shifted_month + 2) / 5 + 1,
            hour: second / 3_600,
            minute: second / 60 % 60,
            second: second % 60,
            weekday: days.rem_euclid(7),
        }
    }
}

fn signed_s(time: SystemTime) -> Option<i64> {
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
}

/// Parses a date before 1970 in IMF-fixdate form, e.g. `Tue, 31 Dec 1969 23:59:59 GMT`.
fn parse_early(text: &str) -> Option<i64> {
    let part = |from: usize, to: usize| text.get(from..to);
    let number = |from: usize, to: usize| {
        let digits = part(from, to).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        digits.and_then(|digits| digits.parse::<i64>().ok())
    };
    let month = MONTHS.iter().position(|name| part(8, 11) == Some(name))?;
    let (day, year) = (number(5, 7)?, number(12, 16)?);
    let (hour, minute, second) = (number(17, 19)?, number(20, 22)?, number(23, 25)?);
    // Estimates the day from average years of 365.2425 days, then searches 40 days on either side for the
    // exact one.
    let estimate = (year - 1970) * 31_556_952 + i64::try_from(month).ok()? * 2_629_746;
    let first = (-40..=40).map(|days| (estimate.div_euclid(DAY_S) + days) * DAY_S).find(|midnight| {
        let civil = Civil::of(*midnight);
        (civil.year, civil.month, civil.day) == (year, i64::try_from(month).unwrap_or(0) + 1, day)
    })?;
    let unix_s = first + hour * 3_600 + minute * 60 + second;
    (http_date(unix_s) == text).then_some(unix_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_forms_of_http_date_are_read() {
        for text in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(parse_http_date(text.as_bytes()), Some(784_111_777), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "1994-11-06T08:49:37Z",
            "\u{e9}",
            "Thu, 31 Dec 1969 23:59:59 GMT",
            "Wed, 31 Feb 1969 23:59:59 GMT",
            "Wed, 31 Dec 1969 23:59:60 GMT",
        ] {
            assert_eq!(parse_http_date(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn dates_are_written_up_to_the_end_of_the_year_9999() {
        assert_eq!(http_date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(rfc3339(784_111_777), "1994-11-06T08:49:37Z");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59Z");
        assert_eq!(rfc3339(-11_644_473_600), "1601-01-01T00:00:00Z");
        assert_eq!(rfc3339(i64::MIN), "0000-01-01T00:00:00Z");
        assert_eq!(rfc3339(i64::MAX), "9999-12-31T23:59:59Z");
        assert_eq!(http_date(i64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
        assert_eq!(http_date(-1), "Wed, 31 Dec 1969 23:59:59 GMT");
        assert_eq!(http_date(-11_644_473_600), "Mon, 01 Jan 1601 00:00:00 GMT");
    }

    proptest::proptest! {
        #[test]
        fn dates_since_1970_are_those_of_another_implementation(unix_s in 0..=LAST_S) {
            let time = UNIX_EPOCH + std::time::Duration::from_secs(unix_s.cast_unsigned());
            proptest::prop_assert_eq!(http_date(unix_s), httpdate::fmt_http_date(time));
        }

        #[test]
        fn a_written_date_reads_back(unix_s in FIRST_S..=LAST_S) {
            proptest::prop_assert_eq!(parse_http_date(http_date(unix_s).as_bytes()), Some(unix_s));
        }
    }
}
