//! Logs in the common and combined formats.

use super::date;
use super::line::{Entry, Rules, Verdict, client, target};

/// Parses the common and the combined format, from Weir or other programs; ignores everything after the size.
pub(super) fn parse(line: &str, rules: &Rules) -> Result<Verdict, String> {
    let name = line.split(' ').next().unwrap_or("");
    let (_, rest) = line.split_once('[').ok_or("has no [date]")?;
    let (written, rest) = rest.split_once(']').ok_or("has no end of its [date]")?;
    let (at_ns, is_coarse) = date::clf(written).ok_or_else(|| format!("{written:?} is no date"))?;
    let (_, rest) = rest.split_once('"').ok_or("has no \"request\"")?;
    let (request, rest) = quoted(rest).ok_or("has no end of its \"request\"")?;
    let mut fields = rest.split_ascii_whitespace();
    let status = fields.next().ok_or("has no status")?;
    if status.len() != 3 || !status.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{status:?} is no status"));
    }
    if request == "-" {
        return Ok(Verdict::NoServer);
    }
    let bytes = fields.next().and_then(|bytes| bytes.parse().ok());
    let entry = Entry {
        at_ns,
        is_coarse,
        service_ns: None,
        bytes,
        client: client(name),
        uri: target(request),
        class: rules.class_of(request),
    };
    Ok(Verdict::Entry(entry))
}

/// Splits a text at the next quotation mark that is not escaped.
pub(super) fn quoted(text: &str) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !is_escaped => return Some((&text[..at], &text[at + 1..])),
            _ => is_escaped = byte == b'\\' && !is_escaped,
        }
    }
    None
}
