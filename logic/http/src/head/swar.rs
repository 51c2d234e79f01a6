//! Eight bytes at a time in one register ("SIMD within a register"). Each function sets the high bit of the bytes that
//! are looked for. A hit may borrow from the byte behind it and set that one's bit too: only the lowest bit set is
//! exact, and it is all that callers use.

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGH: u64 = ONES << 7;

/// Control characters (HTAB too) and DEL.
#[inline(always)]
pub(super) fn controls(word: u64) -> u64 {
    (word.wrapping_sub(ONES * 0x20) | is_below_high(word, 0x7f)) & !word & HIGH
}

/// What ends a path or cannot stand in it: control characters, space, DEL, `#`, `?`.
#[inline(always)]
pub(super) fn path_ends(word: u64) -> u64 {
    let below = word.wrapping_sub(ONES * 0x21);
    let others = is_below_high(word, 0x7f) | is_below_high(word, b'#') | is_below_high(word, b'?');
    (below | others) & !word & HIGH
}

/// Where `byte`, an ASCII character, is.
#[inline(always)]
pub(super) fn equal(word: u64, byte: u8) -> u64 {
    is_below_high(word, byte) & !word & HIGH
}

/// The place of the first byte that has its bit set; 8 if none has.
#[inline(always)]
pub(super) fn first(hits: u64) -> usize {
    hits.trailing_zeros() as usize / 8
}

/// Equality with `byte` below 0x80, wrong for bytes from 0x80.
#[inline(always)]
fn is_below_high(word: u64, byte: u8) -> u64 {
    (word ^ (ONES * byte as u64)).wrapping_sub(ONES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte in every place, between neighbours that try to be taken for it.
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
