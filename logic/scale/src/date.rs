//! UTC dates of history rows.

use std::fmt;

/// Seconds since 1970, displayed as a UTC date (ISO 8601) with milliseconds. Dates before 1970 and after 9999
/// are displayed as an empty text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Date(pub(crate) f64);

/// 10000-01-01, in seconds since 1970.
const END_S: f64 = 253_402_300_800.0;

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded_ms = (self.0 * 1e3).round();
        if !(0.0..END_S * 1e3).contains(&rounded_ms) {
            return Ok(());
        }
        let ms = rounded_ms as u64;
        let (second, ms) = (ms / 1_000, ms % 1_000);
        let (year, month, day) = civil(second / 86_400);
        let (hour, minute, second) = (second / 3_600 % 24, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }
}

/// Returns year, month (1 to 12) and day for a number of days since 1970-01-01 (Gregorian).
fn civil(days: u64) -> (u64, u64, u64) {
    const ERA_DAYS: u64 = 146_097;
    // The algorithm lets years begin in March, so that the leap day is the last day of a year. Both divisions
    // below are then regular.
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

    #[test]
    fn dates_are_those_of_the_gregorian_calendar_in_utc() {
        for (seconds, date) in [
            (0.0, "1970-01-01T00:00:00.000Z"),
            (951_782_399.999_9, "2000-02-29T00:00:00.000Z"),
            (1_709_210_096.25, "2024-02-29T12:34:56.250Z"),
            (1_795_334_400.0, "2026-11-22T08:00:00.000Z"),
            (4_107_542_399.0, "2100-02-28T23:59:59.000Z"),
            (-1.0, ""),
            (f64::NAN, ""),
            (1e300, ""),
        ] {
            assert_eq!(Date(seconds).to_string(), date, "{seconds}");
        }
    }
}
