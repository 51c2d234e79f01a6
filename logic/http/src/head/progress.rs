//! A limit on the work for heads that arrive in small pieces.

/// Returns true if an incomplete head of `before` bytes is worth another parse with the bytes now in `buf`: a
/// line has ended, or the size has doubled. Without this check, a client that sends a large head byte by byte
/// would cause a parse of the whole head for each byte.
pub fn is_worth_parsing(buf: &[u8], before: usize) -> bool {
    let added = buf.get(before..).unwrap_or_default();
    let has_doubled = buf.len().leading_zeros() < before.leading_zeros();
    !added.is_empty() && (has_doubled || added.contains(&b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HeadLimits, HeaderTable, parse_request};

    /// Parses `head` as it arrives byte by byte. Returns the number of parses and the number of bytes at the
    /// verdict.
    fn trickle(head: &[u8]) -> (usize, usize) {
        let (mut before, mut parsed) = (0, 0);
        for bytes in 1..=head.len() {
            if is_worth_parsing(&head[..bytes], before) {
                parsed += 1;
                let verdict = parse_request(&head[..bytes], &HeadLimits::default(), &mut HeaderTable::new());
                if verdict != Ok(None) {
                    return (parsed, bytes);
                }
            }
            before = bytes;
        }
        (parsed, usize::MAX)
    }

    #[test]
    fn a_head_that_trickles_is_parsed_once_a_line() {
        let head = b"GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\nbody";
        let (parsed, bytes) = trickle(head);
        assert_eq!(bytes, head.len() - 4);
        assert!(parsed <= 4 + 6, "{parsed}");
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_is_twice_the_limit() {
        let (parsed, bytes) = trickle(&[b"GET /", &[b'a'; 70_000][..]].concat());
        assert!(bytes <= 2 * 8 * 1024, "{bytes}");
        assert!(parsed <= 15, "{parsed}");
    }
}
