//! CRC-32 as used by Ethernet and zlib (IEEE 802.3), and combinations of CRCs, which are possible because CRC
//! is linear.

/// Returns the CRC of several parts as if they were joined.
pub(crate) fn crc32(parts: &[&[u8]]) -> u32 {
    !parts.iter().fold(!0, |state, part| update(state, part))
}

/// Returns the state (not yet inverted) after more bytes.
pub(crate) fn update(state: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(state, |state, byte| TABLE[usize::from(state as u8 ^ byte)] ^ (state >> 8))
}

/// Returns the CRC of a text that starts with the bytes of CRC `first` and continues with `bytes` bytes of
/// CRC `rest`. It needs only the CRCs, like zlib's crc32_combine: it shifts `first` by that many zero bytes.
pub(crate) fn join(first: u32, rest: u32, bytes: u32) -> u32 {
    let mut carried = first;
    // Each round squares the map, from "one byte further" on, and uses it for one bit of the count, the
    // lowest first.
    let mut on = byte_on();
    let mut left = bytes;
    while left > 0 {
        if left & 1 == 1 {
            carried = times(&on, carried);
        }
        on = std::array::from_fn(|bit| times(&on, on[bit]));
        left >>= 1;
    }
    carried ^ rest
}

/// A linear map of 32 bits: the image of each bit.
type Map = [u32; 32];

/// Returns the map that one zero byte applies to a state.
fn byte_on() -> Map {
    std::array::from_fn(|bit| update(1 << bit, &[0]))
}

fn times(map: &Map, bits: u32) -> u32 {
    map.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).fold(0, |sum, (_, image)| sum ^ image)
}

const TABLE: [u32; 256] = {
    const POLYNOMIAL_REVERSED: u32 = 0xedb8_8320;
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL_REVERSED } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_check_value_comes_out() {
        assert_eq!(crc32(&[b"1234", b"56789"]), 0xcbf4_3926);
    }

    proptest! {
        #[test]
        fn two_crcs_make_that_of_the_whole(first: Vec<u8>, rest: Vec<u8>) {
            let joined = join(crc32(&[&first]), crc32(&[&rest]), rest.len() as u32);
            prop_assert_eq!(joined, crc32(&[&first, &rest]));
        }
    }
}
