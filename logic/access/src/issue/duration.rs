//! Durations in the form of ISO 8601: `PT1H30M`, `P1DT12H`, `P2W`.

use std::fmt;

/// Reason why a text is not a valid duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurationError {
    /// The text does not have the form `PnWnDTnHnMnS`.
    Malformed,
    /// The duration has years or months, whose length depends on the calendar.
    Calendar,
    /// The number of seconds does not fit into 64 bits.
    TooLong,
    /// The duration is zero.
    Zero,
}

/// Parses a duration and returns its seconds, without a fraction. Designators may be in lower case.
///
/// # Errors
/// If the text is not a duration, or if the duration is zero, too long, or in years or months.
pub fn parse_duration(text: &str) -> Result<u64, DurationError> {
    if text.len() > 64 || !text.is_ascii() {
        return Err(DurationError::Malformed);
    }
    let upper = text.to_ascii_uppercase();
    let rest = upper.strip_prefix('P').ok_or(DurationError::Malformed)?;
    let (date, time) = match rest.split_once('T') {
        Some((_, "")) => return Err(DurationError::Malformed),
        Some((date, time)) => (date, time),
        None => (rest, ""),
    };
    if date.is_empty() && time.is_empty() {
        return Err(DurationError::Malformed);
    }
    let units_of_date = [('Y', None), ('M', None), ('W', Some(604_800)), ('D', Some(86_400))];
    let units_of_time = [('H', Some(3600)), ('M', Some(60)), ('S', Some(1))];
    let sum = |a: u64, b: u64| a.checked_add(b).ok_or(DurationError::TooLong);
    match sum(part(date, &units_of_date)?, part(time, &units_of_time)?)? {
        0 => Err(DurationError::Zero),
        seconds => Ok(seconds),
    }
}

/// Parses numbers with their units. Each unit may occur once, in the order of `units`.
fn part(mut text: &str, units: &[(char, Option<u64>)]) -> Result<u64, DurationError> {
    let mut seconds = 0_u64;
    let mut units = units.iter();
    while !text.is_empty() {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or(DurationError::Malformed)?;
        let (number, after) = text.split_at(end);
        let designator = after.chars().next().ok_or(DurationError::Malformed)?;
        let (_, length) = units.find(|(unit, _)| *unit == designator).ok_or(DurationError::Malformed)?;
        let whole = match number.split_once('.') {
            None => number,
            Some((whole, fraction)) => {
                let sound = designator == 'S' && !fraction.is_empty() && !fraction.contains('.');
                if sound { whole } else { return Err(DurationError::Malformed) }
            }
        };
        if whole.is_empty() {
            return Err(DurationError::Malformed);
        }
        let length = length.ok_or(DurationError::Calendar)?;
        let number: u64 = whole.parse().map_err(|_| DurationError::TooLong)?;
        let added = number.checked_mul(length).ok_or(DurationError::TooLong)?;
        seconds = seconds.checked_add(added).ok_or(DurationError::TooLong)?;
        text = &after[1..];
    }
    Ok(seconds)
}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "not a duration such as PT1H30M or P1D",
            Self::Calendar => "years and months have no fixed length; use days",
            Self::TooLong => "too long",
            Self::Zero => "a duration of nothing",
        })
    }
}

impl std::error::Error for DurationError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, expected) in [
            ("PT1H", Ok(3600)),
            ("PT180M", Ok(10_800)),
            ("P1DT12H", Ok(129_600)),
            ("P2W", Ok(1_209_600)),
            ("pt1h30m5.9s", Ok(5405)),
            ("PT0S", Err(DurationError::Zero)),
            ("P1Y", Err(DurationError::Calendar)),
            ("P1M", Err(DurationError::Calendar)),
            ("PT99999999999999999999S", Err(DurationError::TooLong)),
            ("P999999999999999W", Err(DurationError::TooLong)),
            ("", Err(DurationError::Malformed)),
            ("P", Err(DurationError::Malformed)),
            ("PT", Err(DurationError::Malformed)),
            ("P1DT", Err(DurationError::Malformed)),
            ("PTH", Err(DurationError::Malformed)),
            ("PT1.5H", Err(DurationError::Malformed)),
            ("PT1M1H", Err(DurationError::Malformed)),
            ("PT1H1H", Err(DurationError::Malformed)),
            ("-PT1H", Err(DurationError::Malformed)),
            ("PT1", Err(DurationError::Malformed)),
            ("3600", Err(DurationError::Malformed)),
            ("PT１H", Err(DurationError::Malformed)),
        ] {
            assert_eq!(parse_duration(text), expected, "{text}");
        }
    }
}
