//! Formats numbers and reasons for messages.

use std::time::Duration;

/// Formats a duration: `12 s`, `5 min`, `3 h`; below ten seconds with a tenth: `0.4 s`.
pub(super) fn duration(duration: Duration) -> String {
    match duration.as_secs() {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        seconds @ 10..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

/// Formats a number with its noun: `1 request`, `3 requests`.
pub(super) fn count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// Joins a code and its reason: `L4CON connect: connection refused`.
pub(super) fn with_reason(what: &str, reason: &str) -> String {
    if reason.is_empty() { what.to_owned() } else { format!("{what} {reason}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_as_exact_as_a_reader_needs() {
        let of = |millis| duration(Duration::from_millis(millis));
        assert_eq!([of(400), of(12_300), of(300_000), of(10_800_000)], ["0.4 s", "12 s", "5 min", "3 h"]);
    }
}
