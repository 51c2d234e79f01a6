//! CRC-32 as Ethernet and zlib have it (IEEE 802.3), and what follows from its being linear.

/// The CRC of several parts as if they were one.
pub(crate) fn crc32(parts: &[&[u8]]) -> u32 {
    !parts.iter().fold(!0, |state, part| update(state, part))
}

/// The state (not yet inverted) after more bytes.
pub(crate) fn update(state: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(state, |state, byte| TABLE[usize::from(state as u8 ^ byte)] ^ (state >> 8))
}

/// The CRC of a text that begins with `first` and goes on with `bytes` bytes whose own CRC is `rest`: known without seeing
/// them. As zlib's crc32_combine: `first` is carried over as many zero bytes.
pub(crate) fn join(first: u32, rest: u32, bytes: u32) -> u32 {
    let mut carried = first;
    // Each round squares "one byte on", from the lowest bit of the count up.
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

/// A linear map of 32 bits: what becomes of each bit.
type Map = [u32; 32];

/// What one zero byte makes of a state.
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
