//! Search for bytes: the loops in which parsing spends most of its time.

use super::swar;

/// Returns the offset of the first control character (HTAB included) or DEL at or after `from`, or the end of
/// `buf`.
#[inline(always)]
pub(crate) fn find_control(buf: &[u8], from: usize) -> usize {
    find(buf, from, swar::controls, |b| (b < 0x20) | (b == 0x7f))
}

/// Returns the offset of the first byte at or after `from` that is `?` or not allowed in a path (space,
/// control, DEL, `#`), or the end.
#[inline(always)]
pub(crate) fn find_path_end(buf: &[u8], from: usize) -> usize {
    find(buf, from, swar::path_ends, |b| (b <= b' ') | (b == 0x7f) | (b == b'#') | (b == b'?'))
}

/// Returns the offset of the first match, or the end. `hits` tests eight bytes and must match zero bytes;
/// `is` tests one byte.
#[inline(always)]
fn find(buf: &[u8], from: usize, hits: impl Fn(u64) -> u64, is: impl Fn(u8) -> bool) -> usize {
    // Most values end within the first 16 bytes.
    let mut at = from;
    for _ in 0..2 {
        match chunk(buf, at).map(|word| hits(u64::from_le_bytes(*word))) {
            Some(0) => at += 8,
            Some(hits) => return at + swar::first(hits),
            None => return find_in_last(buf, at, hits),
        }
    }
    // Long values such as cookies: a loop without a branch inside compiles to vector code.
    while let Some(block) = chunk::<16>(buf, at)
        && !block.iter().fold(false, |any, byte| any | is(*byte))
    {
        at += 16;
    }
    while let Some(word) = chunk(buf, at) {
        match hits(u64::from_le_bytes(*word)) {
            0 => at += 8,
            hits => return at + swar::first(hits),
        }
    }
    find_in_last(buf, at, hits)
}

#[inline(always)]
fn chunk<const BYTES: usize>(buf: &[u8], at: usize) -> Option<&[u8; BYTES]> {
    buf.get(at..)?.first_chunk()
}

/// Does the same as [`find`] for the last bytes, less than eight.
fn find_in_last(buf: &[u8], from: usize, hits: impl Fn(u64) -> u64) -> usize {
    let left = buf.len().saturating_sub(from);
    match buf.last_chunk() {
        // Reads the last eight bytes again and shifts out those already tested; the zeros that move in match
        // only after the end.
        Some(word) if left > 0 => {
            let rest = u64::from_le_bytes(*word) >> (8 * (8 - left));
            from + swar::first(hits(rest)).min(left)
        }
        Some(_) => from,
        None => {
            let is = |byte: &u8| swar::first(hits(u64::from_le_bytes([*byte; 8]))) == 0;
            buf.iter().skip(from).position(is).map_or(buf.len(), |place| from + place)
        }
    }
}

/// Does the same as [`find_path_end`], but continues after `?`.
pub(crate) fn find_target_end(buf: &[u8], from: usize) -> usize {
    let mut at = find_path_end(buf, from);
    while buf.get(at) == Some(&b'?') {
        at = find_path_end(buf, at + 1);
    }
    at
}

/// Returns the offset of the first byte at or after `from` that is not allowed in a token (RFC 9110 section
/// 5.6.2), or the end.
pub(crate) fn find_token_end(buf: &[u8], from: usize) -> usize {
    let tail = buf.get(from..).unwrap_or_default();
    from + tail.iter().position(|b| !is_token(*b)).unwrap_or(tail.len())
}

/// Returns true if a token may contain this byte (RFC 9110 section 5.6.2).
#[inline]
pub(crate) const fn is_token(byte: u8) -> bool {
    CLASS[byte as usize] & TOKEN != 0
}

/// Returns true for a token: at least one byte, and each of them allowed.
pub(crate) fn is_token_text(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|b| is_token(*b))
}

/// Removes spaces and tabs on both sides (OWS, RFC 9110 section 5.6.3).
pub(crate) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// Returns the trimmed elements of a list header, without empty ones. Does not support quoted strings.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|b| *b == b',').map(trim).filter(|element| !element.is_empty())
}

/// Returns true if a host name may contain this byte: letters, digits and `-._~`.
#[inline]
pub(crate) const fn is_host(byte: u8) -> bool {
    CLASS[byte as usize] & HOST != 0
}

const TOKEN: u8 = 1;
const HOST: u8 = 2;

static CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = match i as u8 {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'.' | b'_' | b'~' => TOKEN | HOST,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'^' | b'`' | b'|' => TOKEN,
            _ => 0,
        };
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_for_is_found_wherever_it_stands_in_a_buffer_of_any_size() {
        for bytes in 0..80 {
            for from in 0..=bytes {
                assert_eq!(find_control(&vec![b'a'; bytes], from), bytes);
                for place in from..bytes {
                    let mut buf = vec![b'a'; bytes];
                    // Bytes before `from` must not count.
                    buf[..from].fill(b'\n');
                    buf[place] = 0x7f;
                    assert_eq!(find_control(&buf, from), place, "{bytes} bytes from {from}");
                    buf[place] = b'?';
                    buf[..from].fill(b' ');
                    assert_eq!(find_path_end(&buf, from), place, "{bytes} bytes from {from}");
                }
            }
        }
    }

    #[test]
    fn a_list_has_trimmed_elements() {
        let elements: Vec<_> = list(b" a ,, b\t,c d, ").collect();
        assert_eq!(elements, [&b"a"[..], b"b", b"c d"]);
    }
}
