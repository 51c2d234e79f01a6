//! Dates as text in UTC. The text is formatted once a second and copied for each line.

use crate::number;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Appends a time in RFC 3339 form, e.g. `2026-11-21T08:48:21.838042Z`, from microseconds since 1970.
pub fn append_rfc3339(out: &mut Vec<u8>, unix_us: u64) {
    append_rfc3339_with(out, unix_us, &mut TimeText::new());
}

/// Does the same as [`append_rfc3339`], but caches the text of the second.
pub(super) fn append_rfc3339_with(out: &mut Vec<u8>, unix_us: u64, time: &mut TimeText) {
    out.extend_from_slice(time.iso(unix_us));
    let mark = out.len();
    number::append(out, 1_000_000 + unix_us % 1_000_000);
    // Adding a million makes seven digits and keeps the leading zeros; the point replaces the first digit.
    if let Some(first) = out.get_mut(mark) {
        *first = b'.';
    }
    out.push(b'Z');
}

/// The cached texts of one second.
#[derive(Debug, Clone)]
pub(super) struct TimeText {
    second: Option<u64>,
    clf: String,
    iso: String,
}

impl TimeText {
    pub(super) const fn new() -> Self {
        Self { second: None, clf: String::new(), iso: String::new() }
    }

    /// Returns the time as `21/Nov/2026:08:48:21`.
    pub(super) fn clf(&mut self, unix_us: u64) -> &[u8] {
        self.at(unix_us / 1_000_000);
        self.clf.as_bytes()
    }

    /// Returns the time as `2026-11-21T08:48:21`.
    pub(super) fn iso(&mut self, unix_us: u64) -> &[u8] {
        self.at(unix_us / 1_000_000);
        self.iso.as_bytes()
    }

    fn at(&mut self, second: u64) {
        if self.second == Some(second) {
            return;
        }
        self.second = Some(second);
        let (year, month, day) = civil(second / 86_400);
        let (hour, minute, second) = (second / 3_600 % 24, second / 60 % 60, second % 60);
        let name = MONTHS[month as usize - 1];
        self.clf = format!("{day:02}/{name}/{year:04}:{hour:02}:{minute:02}:{second:02}");
        self.iso = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    }
}

/// Returns year, month (1 to 12) and day of the Gregorian date `days` after 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    const ERA_DAYS: u64 = 146_097;
    // A year that begins in March ends with the leap day, which makes both divisions below regular.
    let from_march_0000 = days + 719_468;
    let (era, day) = (from_march_0000 / ERA_DAYS, from_march_0000 % ERA_DAYS);
    let year = (day - day / 1_460 + day / 36_524 - day / (ERA_DAYS - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clf(second: u64) -> String {
        String::from_utf8(TimeText::new().clf(second * 1_000_000).to_vec()).unwrap()
    }

    #[test]
    fn seconds_since_1970_are_the_dates_that_the_calendar_has() {
        assert_eq!(clf(0), "01/Jan/1970:00:00:00");
        assert_eq!(clf(951_782_399), "28/Feb/2000:23:59:59");
        assert_eq!(clf(951_782_400), "29/Feb/2000:00:00:00");
        assert_eq!(clf(1_795_250_901), "21/Nov/2026:08:48:21");
        assert_eq!(clf(4_107_542_400), "01/Mar/2100:00:00:00");
    }

    #[test]
    fn the_text_changes_with_the_second_and_only_then() {
        let mut text = TimeText::new();
        assert_eq!(text.iso(1_999_999), b"1970-01-01T00:00:01");
        assert_eq!(text.iso(1_000_000), b"1970-01-01T00:00:01");
        assert_eq!(text.iso(2_000_000), b"1970-01-01T00:00:02");
        assert_eq!(text.iso(1_000_000), b"1970-01-01T00:00:01", "clocks are set back, too");
    }

    #[test]
    fn every_day_of_400_years_follows_the_one_before() {
        let mut yesterday = civil(0);
        for days in 1..146_097 {
            let today = civil(days);
            let leap =
                |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
            let (year, month, day) = yesterday;
            let month_days = match month {
                2 => 28 + u64::from(leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            let expected = if day < month_days {
                (year, month, day + 1)
            } else if month < 12 {
                (year, month + 1, 1)
            } else {
                (year + 1, 1, 1)
            };
            assert_eq!(today, expected);
            yesterday = today;
        }
    }
}
