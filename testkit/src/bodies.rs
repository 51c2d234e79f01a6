//! Writing and strict reading of chunked bodies (RFC 9112 section 7.1), so that tests notice every mistake.

/// Returns a chunked body with these chunks and no trailers.
pub fn chunked<T: AsRef<[u8]>>(chunks: &[T]) -> Vec<u8> {
    let mut body = Vec::new();
    for chunk in chunks {
        let chunk = chunk.as_ref();
        body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        body.extend_from_slice(chunk);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"0\r\n\r\n");
    body
}

/// A chunked body that has arrived completely.
#[derive(Debug)]
pub(crate) struct Chunked {
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
    /// Bytes that it used on the wire.
    pub(crate) wire_bytes: usize,
}

/// Reads a chunked body from the start of `bytes`. Returns `None` if its end has not arrived.
///
/// # Errors
/// A description of the mistake, if the body is malformed.
pub(crate) fn parse_chunked(bytes: &[u8]) -> Result<Option<Chunked>, String> {
    let mut at = 0;
    let mut body = Vec::new();
    loop {
        let Some(line) = line(&bytes[at..]) else { return Ok(None) };
        at += line.len() + 2;
        let digits = std::str::from_utf8(line).ok().filter(|digits| {
            !digits.is_empty() && digits.len() <= 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        });
        let size = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let size = size.ok_or_else(|| format!("chunk size line {:?}", String::from_utf8_lossy(line)))?;
        if size == 0 {
            break;
        }
        let Some(chunk) = bytes.get(at..at + size) else { return Ok(None) };
        let Some(end) = bytes.get(at + size..at + size + 2) else { return Ok(None) };
        if end != b"\r\n" {
            return Err(format!("chunk of {size} bytes ends with {end:?}"));
        }
        body.extend_from_slice(chunk);
        at += size + 2;
    }
    let mut trailers = Vec::new();
    loop {
        let Some(line) = line(&bytes[at..]) else { return Ok(None) };
        at += line.len() + 2;
        if line.is_empty() {
            return Ok(Some(Chunked { body, trailers, wire_bytes: at }));
        }
        trailers.push(field(line)?);
    }
}

/// Returns the received part of a chunked body that has not ended.
pub(crate) fn chunked_so_far(bytes: &[u8]) -> Vec<u8> {
    let (mut at, mut body) = (0, Vec::new());
    while let Some(line) = line(&bytes[at..]) {
        at += line.len() + 2;
        let Ok(size) = usize::from_str_radix(&String::from_utf8_lossy(line), 16) else { break };
        body.extend_from_slice(&bytes[at..bytes.len().min(at + size)]);
        at += size + 2;
        if size == 0 || at > bytes.len() {
            break;
        }
    }
    body
}

/// Returns the bytes before the first CRLF.
pub(crate) fn line(bytes: &[u8]) -> Option<&[u8]> {
    bytes.windows(2).position(|pair| pair == b"\r\n").map(|end| &bytes[..end])
}

/// Parses `Name: value`, and removes the optional white space around the value.
pub(crate) fn field(line: &[u8]) -> Result<(String, String), String> {
    let shown = String::from_utf8_lossy(line).into_owned();
    let bad = |byte: u8| matches!(byte, b'\r' | b'\n' | 0);
    let (name, value) = shown.split_once(':').ok_or_else(|| format!("header line {shown:?}: no colon"))?;
    let name_fits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
    if !name_fits || value.bytes().any(bad) {
        return Err(format!("header line {shown:?}"));
    }
    Ok((name.to_owned(), value.trim_matches([' ', '\t']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunked_body_is_read_to_its_end_and_not_beyond() {
        let mut wire = chunked(&["hello ", "world"]);
        let all = wire.len();
        wire.extend_from_slice(b"HTTP/1.1 200 OK");
        let read = parse_chunked(&wire).unwrap().unwrap();
        assert_eq!((read.body.as_slice(), read.wire_bytes), (b"hello world".as_slice(), all));
        for cut in 0..all {
            assert!(parse_chunked(&wire[..cut]).unwrap().is_none(), "cut at {cut}");
        }
    }

    #[test]
    fn trailers_are_kept_and_bad_sizes_are_refused() {
        let read = parse_chunked(b"1\r\na\r\n0\r\nX-Sum: 5\r\n\r\n").unwrap().unwrap();
        assert_eq!(read.trailers, [("X-Sum".to_owned(), "5".to_owned())]);
        for bad in ["0x1\r\na\r\n", " 1\r\na\r\n", "1\r\nab\r\n0\r\n\r\n", "-1\r\n", "\r\n"] {
            assert!(parse_chunked(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
