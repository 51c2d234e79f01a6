//! Repair of response heads from servers that violate RFC 9112. The head is rewritten, so that every later
//! reader parses it in the same way.

use serde::Serialize;

use crate::head::scan::trim;
use crate::{HeadLimits, HeaderFault, ResponseError};

/// The violations that are repaired in responses of the operator's own servers. Never used for requests: an
/// honest client has none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Lenient {
    /// True if lines of the head may end in LF alone (RFC 9112 section 2.2 allows a recipient to accept
    /// them).
    pub bare_lf: bool,
    /// True if Content-Length may be repeated with the same value, in lines or in a list (RFC 9110 section
    /// 8.6).
    pub equal_lengths: bool,
    /// True if control characters in values are replaced by spaces (RFC 9110 section 5.5).
    pub control_characters: bool,
}

/// The result of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// The head is incomplete.
    Incomplete,
    /// The head in its usual form, with the unchanged bytes after it.
    Written(Vec<u8>),
    /// The head has a violation that is not repaired.
    Refused,
}

impl Lenient {
    /// Returns the config names of the repaired violations.
    pub fn names(self) -> Vec<&'static str> {
        let names = [
            (self.bare_lf, "bare-lf"),
            (self.equal_lengths, "duplicate-content-length"),
            (self.control_characters, "control-characters"),
        ];
        names.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect()
    }

    /// Returns true if a head with this error may be repaired.
    pub fn may_mend(self, error: &ResponseError) -> bool {
        match error {
            ResponseError::Header(HeaderFault::BareLf) => self.bare_lf,
            ResponseError::Header(HeaderFault::SecondContentLength | HeaderFault::ContentLength) => {
                self.equal_lengths
            }
            ResponseError::Header(HeaderFault::ValueByte) => self.control_characters,
            // A status line may end too early because of a bare LF, or have a control character in its
            // reason.
            ResponseError::StatusLine => self.bare_lf || self.control_characters,
            _ => false,
        }
    }

    /// Rewrites the head at the start of `buf` with the selected repairs. The result must be parsed as usual:
    /// the parser refuses the remaining violations.
    pub fn repair(self, buf: &[u8], limits: &HeadLimits) -> Repair {
        let mut out = Vec::with_capacity(buf.len() + 64);
        let mut length: Option<&[u8]> = None;
        let mut at = 0;
        loop {
            let Some(rest) = buf.get(at..) else { return Repair::Refused };
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                let is_too_large = buf.len() > limits.head_bytes_max as usize;
                return if is_too_large { Repair::Refused } else { Repair::Incomplete };
            };
            at += end + 1;
            if at > limits.head_bytes_max as usize {
                return Repair::Refused;
            }
            let line = match &rest[..end] {
                [line @ .., b'\r'] => line,
                line if self.bare_lf => line,
                _ => return Repair::Refused,
            };
            if line.is_empty() {
                break;
            }
            match self.length_of(line) {
                Some(Ok(value)) if length.is_none_or(|before| before == value) => {
                    if length.replace(value).is_none() {
                        out.extend_from_slice(b"Content-Length: ");
                        out.extend_from_slice(value);
                        out.extend_from_slice(b"\r\n");
                    }
                }
                Some(_) => return Repair::Refused,
                None => {
                    self.append_line(&mut out, line);
                }
            }
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(buf.get(at..).unwrap_or_default());
        Repair::Written(out)
    }

    /// Returns the value of a Content-Length line; `Err` if it has different values. `None` = another header,
    /// or this repair is off.
    fn length_of(self, line: &[u8]) -> Option<Result<&[u8], ()>> {
        let colon = line.iter().position(|byte| *byte == b':').filter(|_| self.equal_lengths)?;
        let (name, value) = line.split_at(colon);
        if !name.eq_ignore_ascii_case(b"content-length") {
            return None;
        }
        let mut values = value[1..].split(|byte| *byte == b',').map(trim);
        let first = values.next().unwrap_or_default();
        Some(if values.all(|other| other == first) { Ok(first) } else { Err(()) })
    }

    fn append_line(self, out: &mut Vec<u8>, line: &[u8]) {
        let is_control = |byte: u8| (byte < b' ' && byte != b'\t' && byte != b'\r') || byte == 0x7f;
        // Skips the name, which has no control characters; a line that begins with one must not become a
        // continuation line.
        let value = line.iter().position(|byte| matches!(byte, b':' | b' ')).unwrap_or(line.len());
        let mended = line.iter().enumerate().map(|(at, byte)| match at > value && is_control(*byte) {
            true if self.control_characters => b' ',
            _ => *byte,
        });
        out.extend(mended);
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Framing, HeaderTable, ResponseTo, parse_response};

    const ALL: Lenient = Lenient { bare_lf: true, equal_lengths: true, control_characters: true };

    fn repaired(lenient: Lenient, head: &str) -> Repair {
        lenient.repair(head.as_bytes(), &HeadLimits::default())
    }

    fn written(lenient: Lenient, head: &str) -> String {
        match repaired(lenient, head) {
            Repair::Written(bytes) => String::from_utf8(bytes).unwrap(),
            other => panic!("{head:?}: {other:?}"),
        }
    }

    #[test]
    fn a_head_is_written_anew_and_what_follows_stays() {
        assert_eq!(
            written(
                ALL,
                "HTTP/1.1 200 O\x01K\nContent-Length: 5, 5\ncontent-length:5 \r\nX: a\0b\x7f\tc\n\nhel\nlo"
            ),
            "HTTP/1.1 200 O K\r\nContent-Length: 5\r\nX: a b \tc\r\n\r\nhel\nlo"
        );
    }

    #[test]
    fn each_fault_is_mended_by_its_own_switch_alone() {
        let none = Lenient::default();
        let (lf, lengths, controls) = (
            Lenient { bare_lf: true, ..none },
            Lenient { equal_lengths: true, ..none },
            Lenient { control_characters: true, ..none },
        );
        assert_eq!(repaired(lengths, "HTTP/1.1 200 OK\nA: b\n\n"), Repair::Refused);
        assert_eq!(written(lf, "HTTP/1.1 200 OK\nA: b\x01\n\n"), "HTTP/1.1 200 OK\r\nA: b\x01\r\n\r\n");
        let twice = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n";
        assert_eq!(written(controls, twice), twice);
        assert_eq!(written(lengths, twice), "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n");
        for different in ["1\r\nContent-Length: 2", "1, 2", "1,", "1\r\nContent-Length: 01"] {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {different}\r\n\r\n");
            assert_eq!(repaired(lengths, &head), Repair::Refused, "{different:?}");
        }
        assert_eq!(ALL.names(), ["bare-lf", "duplicate-content-length", "control-characters"]);
    }

    #[test]
    fn a_head_that_has_not_all_come_is_waited_for_within_the_limits() {
        for part in ["", "HTTP/1.1 200 OK\n", "HTTP/1.1 200 OK\nA: b\n", "HTTP/1.1 200 OK\nA: b\r"] {
            assert_eq!(repaired(ALL, part), Repair::Incomplete, "{part:?}");
        }
        let limits = HeadLimits::default();
        let long = format!("HTTP/1.1 200 OK\nA: {}", "b".repeat(limits.head_bytes_max as usize));
        assert_eq!(repaired(ALL, &long), Repair::Refused);
        assert_eq!(repaired(ALL, &format!("{long}\n\n")), Repair::Refused);
    }

    proptest! {
        /// A parser of the rewritten head finds the body at the same offset.
        #[test]
        fn what_was_mended_is_read_as_it_was_written(
            lines in prop::collection::vec("(Content-Length: ?[0-9 ,]{0,4}|Transfer-Encoding: chunked|[A-Z :\\t]{0,6}[\\x01\\x7f]?[a-z]{0,3})\\r?", 0..6),
            body in "[a-z\\r\\n]{0,8}",
        ) {
            let head = format!("HTTP/1.1 200 OK\n{}\n", lines.iter().map(|line| format!("{line}\n")).collect::<String>());
            let Repair::Written(bytes) = ALL.repair(format!("{head}{body}").as_bytes(), &HeadLimits::default()) else { return Ok(()) };
            let mut table = HeaderTable::new();
            let Ok(Some(parsed)) = parse_response(&bytes, ResponseTo::default(), &HeadLimits::default(), &mut table) else { return Ok(()) };
            // A line of the body may have ended the head if an empty line was among the header lines, but
            // never vice versa.
            prop_assert!(parsed.head_bytes as usize <= bytes.len());
            let text = String::from_utf8(bytes[..parsed.head_bytes as usize].to_vec()).unwrap();
            prop_assert!(!text.replace("\r\n", "").contains(['\n', '\r']), "{:?}", text);
            if let Framing::Length(length) = parsed.framing {
                let values = text.lines().filter_map(|line| line.strip_prefix("Content-Length:"));
                let values: Vec<u64> = values.filter_map(|value| value.trim().parse().ok()).collect();
                prop_assert_eq!(values, [length], "{:?}", text);
            }
        }
    }
}
