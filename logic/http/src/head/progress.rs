/// Whether a head of which `before` bytes were found incomplete is worth reading again now that `buf` has more: a line
/// has ended, or the bytes have doubled. A client that sends a large head byte by byte would else make every byte cost
/// as much as the whole head.
pub fn is_worth_parsing(buf: &[u8], before: usize) -> bool {
    let added = buf.get(before..).unwrap_or_default();
    let has_doubled = buf.len().leading_zeros() < before.leading_zeros();
    !added.is_empty() && (has_doubled || added.contains(&b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HeadLimits, HeaderTable, parse_request};

    /// Reads `head` byte by byte; how often it was parsed, and after how many bytes there was a verdict.
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
