//! Dates of HTTP and of WebDAV properties. Times are seconds since 1970-01-01 00:00 UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The last second that four digits of year can say: 9999-12-31 23:59:59.
const LAST_S: u64 = 253_402_300_799;

/// Writes an HTTP date, e.g. `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7): for Last-Modified and for
/// DAV:getlastmodified. Times after the year 9999 are written as its end.
pub fn http_date(unix_s: u64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix_s.min(LAST_S)))
}

/// Reads an HTTP date in any of the three forms that a recipient must accept (RFC 9110 section 5.6.7).
pub fn parse_http_date(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(crate::text::trim(text)).ok()?;
    let time: SystemTime = httpdate::parse_http_date(text).ok()?;
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// Writes a date-time of RFC 3339 in UTC, e.g. `1994-11-06T08:49:37Z`: DAV:creationdate (RFC 4918 section 15.1).
pub fn rfc3339(unix_s: u64) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = http_date(unix_s);
    // The HTTP date has fixed columns, so it already holds the calendar's work.
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let month = MONTHS.iter().position(|name| *name == part(8, 11)).unwrap_or(0) + 1;
    format!("{}-{month:02}-{}T{}Z", part(12, 16), part(5, 7), part(17, 25))
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
        for text in ["", "yesterday", "Sun, 06 Nov 1994 08:49:37 CET", "1994-11-06T08:49:37Z", "\u{e9}"] {
            assert_eq!(parse_http_date(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn dates_are_written_up_to_the_end_of_the_year_9999() {
        assert_eq!(http_date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(rfc3339(784_111_777), "1994-11-06T08:49:37Z");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(u64::MAX), "9999-12-31T23:59:59Z");
        assert_eq!(http_date(u64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
    }

    proptest::proptest! {
        #[test]
        fn a_written_date_reads_back(unix_s in 0..=LAST_S) {
            proptest::prop_assert_eq!(parse_http_date(http_date(unix_s).as_bytes()), Some(unix_s));
        }
    }
}
