//! Parser for the tables of smuggling cases. The top of `requests.txt` describes the format.

/// A smuggling case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    /// Rule in one sentence.
    pub(crate) rule: String,
    /// Bytes to send.
    pub(crate) input: Vec<u8>,
    /// Expected verdict for each message.
    pub(crate) verdict: Vec<Verdict>,
}

/// The expected verdict on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The message is valid.
    Forward,
    /// The head is refused with this status.
    Refuse(u16),
    /// The head is valid, but the body is refused with this status.
    RefuseInBody(u16),
    /// The message is incomplete.
    Incomplete,
}

/// Returns the cases of requests.
pub(crate) fn requests() -> Vec<Case> {
    parse(include_str!("requests.txt"))
}

/// Returns the cases of responses.
#[allow(dead_code)] // Some test programs use only the requests.
pub(crate) fn responses() -> Vec<Case> {
    parse(include_str!("responses.txt"))
}

fn parse(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut rule = String::new();
    let mut input = Vec::new();
    for (number, line) in text.lines().enumerate() {
        match line.split_once(' ') {
            Some(("=", sentence)) => rule = sentence.to_owned(),
            Some((">", bytes)) => unescape(bytes, &mut input),
            Some(("<", verdict)) => cases.push(Case {
                rule: std::mem::take(&mut rule),
                input: std::mem::take(&mut input),
                verdict: verdict.split(", ").map(parse_verdict).collect(),
            }),
            _ if line.is_empty() || line.starts_with('#') => {}
            _ => panic!("line {}: {line:?}", number + 1),
        }
    }
    cases
}

fn parse_verdict(text: &str) -> Verdict {
    match text.split(' ').collect::<Vec<_>>()[..] {
        ["forward"] => Verdict::Forward,
        ["incomplete"] => Verdict::Incomplete,
        ["refuse", status] => Verdict::Refuse(status.parse().expect("a status")),
        ["refuse", status, "in", "body"] => Verdict::RefuseInBody(status.parse().expect("a status")),
        _ => panic!("no verdict: {text:?}"),
    }
}

fn unescape(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let (byte, taken) = match (first, behind) {
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [b'0', ..]) => (0, 2),
            (b'\\', [b'\\', ..]) => (b'\\', 2),
            (b'\\', [b'x', high, low, ..]) => (hex(*high) << 4 | hex(*low), 4),
            (b'\\', _) => panic!("no escape: {text:?}"),
            (byte, _) => (*byte, 1),
        };
        out.push(byte);
        rest = &rest[taken..];
    }
}

fn hex(digit: u8) -> u8 {
    (digit as char).to_digit(16).expect("a hexadecimal digit") as u8
}
