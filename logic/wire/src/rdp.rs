//! The cookie in the first bytes of a remote desktop connection ([MS-RDPBCGR] section 2.2.1.1): a TPKT header, an X.224
//! Connection Request, then a line such as `Cookie: mstshash=USER` that balancers may go by.

/// The longest beginning of a connection that is looked at.
pub const BYTES_MAX: usize = 1024;

/// How far the bytes that have come so far are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cookie<'a> {
    /// It may still come.
    Incomplete,
    /// There is none.
    Absent,
    /// Its value.
    Value(&'a [u8]),
}

/// TPKT's header (version 3) and X.224's up to the variable part.
const FIXED_BYTES: usize = 11;
const TPKT_VERSION: u8 = 3;
const FIELD: &[u8] = b"Cookie:";

/// Looks for the cookie `name`, in any case, at the start of `input`. Never asks for more than [`BYTES_MAX`] bytes.
pub fn cookie<'a>(input: &'a [u8], name: &str) -> Cookie<'a> {
    let input = &input[..input.len().min(BYTES_MAX)];
    match find(input, name.as_bytes()) {
        Ok(Some(value)) => Cookie::Value(value),
        Ok(None) if input.len() < BYTES_MAX => Cookie::Incomplete,
        _ => Cookie::Absent,
    }
}

/// There is certainly none.
struct NoCookie;

/// None = more is needed.
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

/// What stands behind `start`, which may be in any case.
fn after<'a>(text: &'a [u8], start: &[u8]) -> Result<Option<&'a [u8]>, NoCookie> {
    let there = text.len().min(start.len());
    if !text[..there].eq_ignore_ascii_case(&start[..there]) {
        return Err(NoCookie);
    }
    Ok(text.get(start.len()..))
}
