//! Tests of eight bytes at a time in one register ("SIMD within a register"). Each function sets the high bit
//! of the bytes that match. A match may borrow from the next byte and set its bit, too. Therefore only the
//! lowest set bit is exact, and callers use only that one.

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGH: u64 = ONES << 7;

/// Finds control characters (HTAB included) and DEL.
#[inline(always)]
pub(super) fn controls(word: u64) -> u64 {
    (word.wrapping_sub(ONES * 0x20) | is_below_high(word, 0x7f)) & !word & HIGH
}

/// Finds bytes that end a path or are not allowed in it: control characters, space, DEL, `#`, `?`.
#[inline(always)]
pub(super) fn path_ends(word: u64) -> u64 {
    let below = word.wrapping_sub(ONES * 0x21);
    let others = is_below_high(word, 0x7f) | is_below_high(word, b'#') | is_below_high(word, b'?');
    (below | others) & !word & HIGH
}

/// Finds `byte`, an ASCII character.
#[inline(always)]
pub(super) fn equal(word: u64, byte: u8) -> u64 {
    is_below_high(word, byte) & !word & HIGH
}

/// Returns the index of the first byte with its bit set; 8 if there is none.
#[inline(always)]
pub(super) fn first(hits: u64) -> usize {
    hits.trailing_zeros() as usize / 8
}

/// Finds `byte` among bytes below 0x80; the result for bytes from 0x80 is wrong.
#[inline(always)]
fn is_below_high(word: u64, byte: u8) -> u64 {
    (word ^ (ONES * byte as u64)).wrapping_sub(ONES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests every byte at every index, between neighbours that are easily confused with it.
    fn assert_finds(hits: impl Fn(u64) -> u64, is: impl Fn(u8) -> bool) {
        for byte in 0..=u8::MAX {
            for filler in [b'a', 0x80, 0xff, b' ' + 2, 0xa0, 0xbf, 0xbb, 0x9f] {
                if is(filler) {
                    continue;
                }
                for place in 0..8 {
                    let mut bytes = [filler; 8];
                    bytes[place] = byte;
                    let expected = if is(byte) { place } else { 8 };
                    assert_eq!(
                        first(hits(u64::from_le_bytes(bytes))),
                        expected,
                        "{byte} in {filler} at {place}"
                    );
                    for neighbour in &mut bytes[place..] {
                        *neighbour = byte;
                    }
                    assert_eq!(first(hits(u64::from_le_bytes(bytes))), expected, "{byte} from {place}");
                }
            }
        }
    }

    #[test]
    fn the_first_byte_looked_for_is_found_in_every_place() {
        assert_finds(controls, |b| b < 0x20 || b == 0x7f);
        assert_finds(path_ends, |b| b <= b' ' || b == 0x7f || b == b'#' || b == b'?');
        assert_finds(|word| equal(word, b':'), |b| b == b':');
    }
}
