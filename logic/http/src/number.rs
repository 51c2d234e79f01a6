//! Formatting of numbers without allocation.

/// Appends `number` in decimal.
pub(crate) fn append(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_written_as_the_standard_library_does() {
        for number in [0, 9, 10, 200, 65_535, u64::MAX] {
            let mut out = Vec::new();
            super::append(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }
}
