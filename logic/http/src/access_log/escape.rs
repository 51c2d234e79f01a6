//! Escaping of client data for the access log, so that no byte can end a line or a field, or control a
//! terminal.

/// Maximum logged length of a field in bytes. The head limits also apply, but the operator sets those.
const FIELD_BYTES_MAX: usize = 8 * 1024;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Returns a table of the bytes that need no escape: printable ASCII without those in `special`.
const fn plain(special: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0x20;
    while byte < 0x7f {
        table[byte] = true;
        byte += 1;
    }
    let mut at = 0;
    while at < special.len() {
        table[special[at] as usize] = false;
        at += 1;
    }
    table
}

static QUOTED: [bool; 256] = plain(b"\"\\");
static HAPROXY: [bool; 256] = plain(b"\"#");
static JSON: [bool; 256] = plain(b"\"\\");

/// Appends text for a quoted field of the NCSA formats; escapes bytes as `\xHH`, as NGINX does.
pub(super) fn quoted(out: &mut Vec<u8>, text: &[u8]) {
    hex(out, text, &QUOTED, b"\\x");
}

/// Appends text for a quoted field of HAProxy's formats; escapes bytes as `#HH`.
pub(super) fn haproxy(out: &mut Vec<u8>, text: &[u8]) {
    hex(out, text, &HAPROXY, b"#");
}

fn hex(out: &mut Vec<u8>, text: &[u8], plain: &[bool; 256], mark: &[u8]) {
    let mut rest = limited(text);
    while let Some(at) = rest.iter().position(|byte| !plain[usize::from(*byte)]) {
        let byte = rest[at];
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(mark);
        out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Appends a JSON string with its quotes. Replaces bytes that are not UTF-8 with U+FFFD. Escapes all control
/// characters and Unicode line ends, because some readers split lines at them.
pub(super) fn json(out: &mut Vec<u8>, text: &[u8]) {
    let text = limited(text);
    out.push(b'"');
    if text.iter().all(|byte| JSON[usize::from(*byte)]) {
        out.extend_from_slice(text);
    } else {
        for chunk in text.utf8_chunks() {
            chunk.valid().chars().for_each(|c| json_char(out, c));
            if !chunk.invalid().is_empty() {
                out.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
    }
    out.push(b'"');
}

fn json_char(out: &mut Vec<u8>, c: char) {
    match c {
        '"' | '\\' => out.extend_from_slice(&[b'\\', c as u8]),
        c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
            let code = c as u32;
            let digit = |shift: u32| HEX[(code >> shift & 15) as usize];
            out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
        }
        c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

fn limited(text: &[u8]) -> &[u8] {
    &text[..text.len().min(FIELD_BYTES_MAX)]
}
