//! Formats request ids.

/// Returns the text of an id, 32 hexadecimal digits. It uses no formatter, because each request needs an id.
pub(super) fn of(random: [u64; 2]) -> Box<str> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 32];
    let bytes = random.iter().flat_map(|half| half.to_be_bytes());
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    // Digits are text.
    std::str::from_utf8(&text).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_id_has_all_digits_of_both_numbers() {
        for random in [[0, 0], [u64::MAX, 1], [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210]] {
            assert_eq!(*super::of(random), format!("{:016x}{:016x}", random[0], random[1]));
        }
    }
}
