//! Numbers in a form for people: short and with a unit. All user interfaces use these functions, so they show
//! the same.

/// Formats a count with three significant digits: `999`, `1.23k`, `45.6M`. Exact below 10,000.
pub fn count(count: u64) -> String {
    if count < 10_000 {
        count.to_string()
    } else {
        scaled(count as f64, 1_000.0, &["", "k", "M", "G", "T", "P", "E"])
    }
}

/// Formats bytes: `512 B`, `1.50 KiB`, `23.4 GiB`.
pub fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, 1_024.0, &[" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"])
}

/// Formats a duration given in microseconds: `85us`, `1.23ms`, `12.3s`, `2m 5s`.
pub fn latency(us: u64) -> String {
    if us < 60_000_000 { scaled(us as f64, 1_000.0, &["us", "ms", "s"]) } else { span(us / 1_000) }
}

/// Formats an age or a duration given in milliseconds, in the two largest units: `0s`, `59s`, `2m 5s`,
/// `3h 0m`, `12d 4h`.
pub fn span(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, ..) => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

/// Formats with three significant digits in the largest unit that leaves a whole part; without decimals in
/// the smallest unit.
fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut last = "";
    for (at, unit) in units.iter().enumerate() {
        last = unit;
        // A value that would round to four digits belongs to the next unit.
        if value < 999.5 || (at == 0 && value < step) || at + 1 == units.len() {
            let digits = if at == 0 || value >= 99.95 {
                0
            } else if value >= 9.995 {
                1
            } else {
                2
            };
            return format!("{value:.digits$}{unit}");
        }
        value /= step;
    }
    format!("{value}{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_while_they_are_short() {
        let shown = [0, 999, 9_999, 10_000, 12_345, 999_499, 999_500, 45_600_000, u64::MAX].map(count);
        assert_eq!(shown, ["0", "999", "9999", "10.0k", "12.3k", "999k", "1.00M", "45.6M", "18.4E"]);
    }

    #[test]
    fn bytes_are_in_powers_of_1024() {
        let shown = [0, 1_023, 1_024, 1_536, 10_485_760, 1 << 40].map(bytes);
        assert_eq!(shown, ["0 B", "1023 B", "1.00 KiB", "1.50 KiB", "10.0 MiB", "1.00 TiB"]);
    }

    #[test]
    fn latencies_go_from_microseconds_to_minutes() {
        let shown = [0, 85, 1_234, 99_960, 12_345_678, 125_000_000].map(latency);
        assert_eq!(shown, ["0us", "85us", "1.23ms", "100ms", "12.3s", "2m 5s"]);
    }

    #[test]
    fn spans_have_two_units_at_most() {
        let shown = [0, 59_999, 125_000, 10_800_000, 1_051_200_000].map(span);
        assert_eq!(shown, ["0s", "59s", "2m 5s", "3h 0m", "12d 4h"]);
    }
}
