//! Suggests the probable meaning of durations, sizes, rates and percentages in another notation. The caller
//! checks the ranges of their keys.

use weir_model::ByteSize;

use crate::syntax::tree::Value;

pub(crate) fn durations(value: &Value) -> Vec<String> {
    quantities(value, DURATION_UNITS, ["s", "ms"])
}

pub(crate) fn sizes(value: &Value) -> Vec<String> {
    quantities(value, SIZE_UNITS, ["B", "KiB"])
}

pub(crate) fn byte_rates(value: &Value) -> Vec<String> {
    let each_second = |size: String| format!("{size}/s");
    let Value::Text(there) = value else {
        return sizes(value).into_iter().map(each_second).collect();
    };
    let text = there.text.trim();
    let size = ["/second", "/sec", "/s"].iter().find_map(|end| text.strip_suffix(*end));
    let size = size.unwrap_or(text).trim_end();
    // A valid unit stays as it is.
    let size = match size.parse::<ByteSize>() {
        Ok(_) => Some(size.to_owned()),
        Err(_) => with_unit(size, SIZE_UNITS),
    };
    size.map(each_second).into_iter().collect()
}

pub(crate) fn percents(value: &Value) -> Vec<String> {
    let text = match value {
        Value::Integer(Some(number)) => number.to_string(),
        Value::Float(number) => number.clone(),
        Value::Text(there) => there.text.trim().to_owned(),
        _ => return Vec::new(),
    };
    let part = text.parse::<f64>().ok().filter(|_| text.contains('.'));
    let share = part.map(|part| part * 100.0).filter(|share| (share - share.round()).abs() < 1e-6);
    let share = share.map(|share| format!("{}%", share.round()));
    share.into_iter().chain([format!("{text}%")]).collect()
}

/// Returns the possible meanings of a quantity. A number without a unit may have either of the units in
/// `bare`.
fn quantities(value: &Value, units: Units, bare: [&str; 2]) -> Vec<String> {
    let text = match value {
        Value::Integer(Some(number @ 0..)) => number.to_string(),
        Value::Float(number) => number.clone(),
        Value::Text(there) => there.text.trim().to_owned(),
        _ => return Vec::new(),
    };
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        let with = |unit: &&str| with_unit(&format!("{text}{unit}"), units);
        return bare.iter().filter_map(with).collect();
    }
    with_unit(&text, units).into_iter().collect()
}

/// Returns a whole number with a unit in the notation of the file.
fn with_unit(text: &str, units: Units) -> Option<String> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(at);
    let (_, ours) = units.iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(unit.trim()))?;
    let Some((whole, part)) = number.split_once('.') else {
        return (!number.is_empty()).then(|| format!("{number}{ours}"));
    };
    let (_, finer, factor) = FINER.iter().find(|(unit, ..)| unit == ours)?;
    let scale = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let scaled = format!("{whole}{part}").parse::<u64>().ok()?.checked_mul(*factor)?;
    scaled.is_multiple_of(scale).then(|| format!("{}{finer}", scaled / scale))
}

/// Spellings of units, in any case, each with the spelling of the file.
type Units = &'static [(&'static str, &'static str)];

const DURATION_UNITS: Units = &[
    ("ms", "ms"),
    ("msec", "ms"),
    ("millis", "ms"),
    ("milliseconds", "ms"),
    ("s", "s"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("m", "m"),
    ("min", "m"),
    ("mins", "m"),
    ("minute", "m"),
    ("minutes", "m"),
    ("h", "h"),
    ("hr", "h"),
    ("hour", "h"),
    ("hours", "h"),
    ("d", "d"),
    ("day", "d"),
    ("days", "d"),
];

const SIZE_UNITS: Units = &[
    ("b", "B"),
    ("bytes", "B"),
    ("k", "KiB"),
    ("kb", "KiB"),
    ("kib", "KiB"),
    ("m", "MiB"),
    ("mb", "MiB"),
    ("mib", "MiB"),
    ("g", "GiB"),
    ("gb", "GiB"),
    ("gib", "GiB"),
    ("t", "TiB"),
    ("tb", "TiB"),
    ("tib", "TiB"),
];

/// Units, each with the next smaller unit and the factor between them.
const FINER: &[(&str, &str, u64)] = &[
    ("s", "ms", 1_000),
    ("m", "s", 60),
    ("h", "m", 60),
    ("d", "h", 24),
    ("KiB", "B", 1_024),
    ("MiB", "KiB", 1_024),
    ("GiB", "MiB", 1_024),
    ("TiB", "GiB", 1_024),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::tree::Text;

    fn text(text: &str) -> Value {
        Value::Text(Text { text: text.to_owned(), substituted: false })
    }

    #[test]
    fn a_number_without_a_unit_may_be_meant_in_two() {
        assert_eq!(durations(&Value::Integer(Some(10))), ["10s", "10ms"]);
        assert_eq!(durations(&text("10")), ["10s", "10ms"]);
        assert_eq!(durations(&Value::Float("0.5".to_owned())), ["500ms"]);
        assert_eq!(sizes(&Value::Integer(Some(64))), ["64B", "64KiB"]);
        assert_eq!(durations(&Value::Integer(Some(-1))), [""; 0]);
    }

    #[test]
    fn other_units_and_fractions_become_ours() {
        for (theirs, ours) in
            [("5 Minutes", "5m"), ("60sec", "60s"), ("5S", "5s"), ("1.5s", "1500ms"), ("0.25h", "15m")]
        {
            assert_eq!(durations(&text(theirs)), [ours]);
        }
        for (theirs, ours) in [("10mb", "10MiB"), ("64K", "64KiB"), ("1.5 GiB", "1536MiB")] {
            assert_eq!(sizes(&text(theirs)), [ours]);
        }
        for wrong in ["", "s", "fast", "1.0001s", "1.2.3s", "0.5ms", "5 parsecs"] {
            assert_eq!(durations(&text(wrong)), [""; 0], "{wrong}");
        }
    }

    #[test]
    fn a_rate_is_a_size_each_second() {
        for (theirs, ours) in
            [("1MB", "1MB/s"), ("1mb/s", "1MiB/s"), ("1KiB/sec", "1KiB/s"), ("64k", "64KiB/s")]
        {
            assert_eq!(byte_rates(&text(theirs)), [ours]);
        }
        assert_eq!(byte_rates(&Value::Integer(Some(5))), ["5B/s", "5KiB/s"]);
        assert_eq!(byte_rates(&text("fast")), [""; 0]);
    }

    #[test]
    fn a_share_may_be_a_part_of_one() {
        assert_eq!(percents(&Value::Integer(Some(20))), ["20%"]);
        assert_eq!(percents(&text("20")), ["20%"]);
        assert_eq!(percents(&Value::Float("0.2".to_owned()))[0], "20%");
    }
}
