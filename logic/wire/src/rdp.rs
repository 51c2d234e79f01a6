//! The cookie in the first bytes of a remote desktop connection ([MS-RDPBCGR] section 2.2.1.1). These bytes
//! are a TPKT header and an X.224 Connection Request, followed by a line such as `Cookie: mstshash=USER`.
//! Load balancers use the cookie for stickiness.

/// Maximum number of bytes that the parser examines.
pub const BYTES_MAX: usize = 1024;

/// Result of the search for the cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cookie<'a> {
    /// More bytes are needed.
    Incomplete,
    /// The connection has no such cookie.
    Absent,
    /// Value of the cookie.
    Value(&'a [u8]),
}

/// Length of the TPKT header (version 3) and of the fixed part of the X.224 header.
const FIXED_BYTES: usize = 11;
const TPKT_VERSION: u8 = 3;
const FIELD: &[u8] = b"Cookie:";

/// Searches for the cookie `name`, ignoring case, at the start of `input`. Never needs more than
/// [`BYTES_MAX`] bytes.
pub fn cookie<'a>(input: &'a [u8], name: &str) -> Cookie<'a> {
    let input = &input[..input.len().min(BYTES_MAX)];
    match find(input, name.as_bytes()) {
        Ok(Some(value)) => Cookie::Value(value),
        Ok(None) if input.len() < BYTES_MAX => Cookie::Incomplete,
        _ => Cookie::Absent,
    }
}

/// Error for a connection that cannot contain the cookie.
struct NoCookie;

/// Searches for the cookie; `None` = more bytes are needed.
fn find<'a>(input: &'a [u8], name: &[u8]) -> Result<Option<&'a [u8]>, NoCookie> {
    if input.first().is_some_and(|version| *version != TPKT_VERSION) {
        return Err(NoCookie);
    }
    let Some(text) = input.get(FIXED_BYTES..) else { return Ok(None) };
    let Some(text) = after(text, FIELD)? else { return Ok(None) };
    let spaces = text.iter().take_while(|byte| **byte == b' ').count();
    let Some(text) = after(&text[spaces..], name)? else { return Ok(None) };
    let Some(text) = after(text, b"=")? else { return Ok(None) };
    let Some(end) = text.iter().position(|byte| *byte == b'\r') else { return Ok(None) };
    match text.get(end + 1) {
        None => Ok(None),
        Some(b'\n') => Ok(Some(&text[..end])),
        Some(_) => Err(NoCookie),
    }
}

/// Returns the text after `start`, which is compared without case; `None` = more bytes are needed.
fn after<'a>(text: &'a [u8], start: &[u8]) -> Result<Option<&'a [u8]>, NoCookie> {
    let there = text.len().min(start.len());
    if !text[..there].eq_ignore_ascii_case(&start[..there]) {
        return Err(NoCookie);
    }
    Ok(text.get(start.len()..))
}
