//! Numbers with units, as people write and read them.

use std::time::Duration;

/// Parses a duration such as `250ms`, `10s`, `1.5m`, `2h` or `1m30s`. A number without a unit is in seconds.
///
/// # Errors
/// If the text is not a duration. The error text shows valid examples.
pub fn duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("{text:?} is no duration: write 250ms, 10s, 2m or 1m30s");
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(bad());
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().map_err(|_| bad())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        seconds += number
            * match &rest[..letters] {
                "ns" => 1e-9,
                "us" | "µs" => 1e-6,
                "ms" => 1e-3,
                "s" | "" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                _ => return Err(bad()),
            };
        rest = &rest[letters..];
    }
    // About a century, which is longer than any run.
    if seconds > 3e9 {
        return Err(bad());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| bad())
}

/// Parses a size such as `1024`, `64KiB`, `1MB` or `10GiB`. Returns bytes.
///
/// # Errors
/// If the text is not a size. The error text shows valid examples.
pub fn size(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is no size: write 1024, 64KiB, 1MB or 10GiB");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().map_err(|_| bad())?;
    let unit = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        "tib" => 1_099_511_627_776.0,
        _ => return Err(bad()),
    };
    let bytes = number * unit;
    if bytes.fract() != 0.0 || bytes > i64::MAX as f64 { Err(bad()) } else { Ok(bytes as u64) }
}

/// Formats a number without trailing zeros.
pub(crate) fn number(value: f64) -> String {
    let text = if value.abs() >= 100.0 { format!("{value:.1}") } else { format!("{value:.3}") };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats seconds as a duration that [`duration`] can parse.
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{}ms", number(seconds * 1e3)) } else { format!("{}s", number(seconds)) }
}

/// Formats nanoseconds with three significant digits: `850ns`, `85.0us`, `1.23ms`, `12.3s`.
pub fn time(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns}ns"),
        1_000..999_500 => (ns as f64 / 1e3, "us"),
        999_500..999_500_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let digits = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.digits$}{unit}")
}

/// Formats nanoseconds as Go writes a `time.Duration`: `1h2m3.5s`, `1.5s`, `145.082066ms`, `0s`.
pub(crate) fn go_duration(ns: u64) -> String {
    let fraction = |value: u64, unit: u64, name: &str| {
        let (whole, rest) = (value / unit, value % unit);
        let width = unit.ilog10() as usize;
        let digits = format!("{rest:0width$}");
        match digits.trim_end_matches('0') {
            "" => format!("{whole}{name}"),
            digits => format!("{whole}.{digits}{name}"),
        }
    };
    match ns {
        0 => "0s".to_owned(),
        1..1_000 => format!("{ns}ns"),
        1_000..1_000_000 => fraction(ns, 1_000, "µs"),
        1_000_000..1_000_000_000 => fraction(ns, 1_000_000, "ms"),
        _ => {
            let minutes = ns / 60_000_000_000;
            let seconds = fraction(ns % 60_000_000_000, 1_000_000_000, "s");
            match (minutes / 60, minutes % 60) {
                (0, 0) => seconds,
                (0, minutes) => format!("{minutes}m{seconds}"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_units() {
        for (text, ms) in [("250ms", 250), ("10s", 10_000), ("1.5m", 90_000), ("1m30s", 90_000), ("2", 2_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "ms", "1x", "-1s", "1e9s", "99999999999s", "."] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("1MB"), Ok(1_000_000));
        assert_eq!(size("1.5KiB"), Ok(1_536));
        for text in ["", "MB", "1.5", "1PiB", "99999999TiB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_written_with_three_digits() {
        let shown = [0, 850, 85_000, 1_230_000, 999_600_000, 12_300_000_000].map(time);
        assert_eq!(shown, ["0ns", "850ns", "85.0us", "1.23ms", "1.00s", "12.3s"]);
    }

    #[test]
    fn go_durations_are_as_go_writes_them() {
        let shown =
            [0, 5, 1_500, 145_082_066, 10_094_965_987, 60_000_000_000, 3_723_500_000_000].map(go_duration);
        assert_eq!(shown, ["0s", "5ns", "1.5µs", "145.082066ms", "10.094965987s", "1m0s", "1h2m3.5s"]);
    }
}
