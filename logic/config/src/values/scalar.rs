//! Parses scalar values in the syntax of the file: durations, sizes, rates and percentages. Checks them
//! against the ranges of their keys.

use weir_model::{ByteSize, Millis};

use crate::schema::Kind;

/// Parses a duration in this range.
pub(crate) fn duration(text: &str, min_ms: u64, max_ms: u64) -> Result<Millis, String> {
    let span: Millis = text.parse().map_err(|cause| format!("{cause}"))?;
    in_range(span.0, min_ms, max_ms)
        .map(|()| span)
        .ok_or_else(|| out_of_range(text, Kind::Duration { min_ms, max_ms }))
}

/// Parses a size in this range.
pub(crate) fn size(text: &str, min: u64, max: u64) -> Result<ByteSize, String> {
    let size: ByteSize = text.parse().map_err(|cause| format!("{cause}"))?;
    in_range(size.0, min, max).map(|()| size).ok_or_else(|| out_of_range(text, Kind::Size { min, max }))
}

/// Parses bytes per second, written as a size and `/s`.
pub(crate) fn byte_rate(text: &str) -> Result<u64, String> {
    if text.trim() == "0" {
        return Ok(0);
    }
    let size = text.trim().strip_suffix("/s").and_then(|size| size.parse::<ByteSize>().ok());
    size.map(|size| size.0).ok_or_else(|| format!("expected {}", Kind::ByteRate))
}

/// Parses a percentage, in whole percent.
pub(crate) fn percent(text: &str, min: u16, max: u16) -> Result<u16, String> {
    let kind = Kind::Percent { min, max };
    let number = text.trim().strip_suffix('%').ok_or_else(|| format!("the % is missing: expected {kind}"))?;
    let number: u64 = number.trim_end().parse().map_err(|_| format!("expected {kind}"))?;
    match u16::try_from(number) {
        Ok(share) if (min..=max).contains(&share) => Ok(share),
        _ => Err(out_of_range(text, kind)),
    }
}

/// Checks the range of a whole number.
pub(crate) fn integer(number: i64, min: u64, max: u64) -> Result<u64, String> {
    let found = u64::try_from(number).ok().filter(|number| in_range(*number, min, max).is_some());
    found.ok_or_else(|| out_of_range(&number.to_string(), Kind::Integer { min, max }))
}

/// Checks the range of a whole number that may be negative.
pub(crate) fn signed(number: i64, min: i64, max: i64) -> Result<i64, String> {
    let is_in = (min..=max).contains(&number);
    is_in.then_some(number).ok_or_else(|| out_of_range(&number.to_string(), Kind::Signed { min, max }))
}

fn in_range(value: u64, min: u64, max: u64) -> Option<()> {
    (min..=max).contains(&value).then_some(())
}

fn out_of_range(text: &str, kind: Kind) -> String {
    format!("{} is out of range: {}", crate::syntax::tree::short(text), kind.range().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_written_with_its_sign() {
        assert_eq!(percent("20%", 0, 100), Ok(20));
        assert_eq!(percent("101%", 0, 100), Err("101% is out of range: 0% to 100%".to_owned()));
        assert_eq!(
            percent("99999999999%", 0, 100),
            Err("99999999999% is out of range: 0% to 100%".to_owned())
        );
        assert!(percent("20", 0, 100).unwrap_err().starts_with("the % is missing"));
    }

    #[test]
    fn a_byte_rate_is_a_size_each_second() {
        assert_eq!(byte_rate("1KiB/s"), Ok(1024));
        assert_eq!(byte_rate("0"), Ok(0));
        assert!(byte_rate("1KiB").is_err());
        assert!(byte_rate("5/s").is_err());
    }

    #[test]
    fn what_is_out_of_range_says_the_range() {
        assert_eq!(duration("31d", 1, 86_400_000), Err("31d is out of range: 1ms to 1d".to_owned()));
        assert_eq!(signed(-1, -1, 1), Ok(-1));
        assert_eq!(signed(-2, -1, 1), Err("-2 is out of range: -1 to 1".to_owned()));
        assert_eq!(integer(-1, 0, 256), Err("-1 is out of range: 0 to 256".to_owned()));
    }
}
