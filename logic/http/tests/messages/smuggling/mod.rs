//! Reads the tables of smuggling cases. Their format is told at the top of `requests.txt`.

/// One case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    /// The rule, in a sentence.
    pub(crate) rule: String,
    /// What is sent.
    pub(crate) input: Vec<u8>,
    /// What must become of it, message by message.
    pub(crate) verdict: Vec<Verdict>,
}

/// What must become of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is sound.
    Forward,
    /// Its head is refused.
    Refuse(u16),
    /// Its head is sound, its body is refused.
    RefuseInBody(u16),
    /// More must come.
    Incomplete,
}

/// The cases of requests.
pub(crate) fn requests() -> Vec<Case> {
    parse(include_str!("requests.txt"))
}

/// The cases of responses.
#[allow(dead_code)] // Not every test that reads the requests wants the responses.
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
