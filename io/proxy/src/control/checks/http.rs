//! The HTTP exchange of a health check.

use std::future::poll_fn;
use std::io;

use weir_config::plan::HttpCheck;
use weir_control::CheckCode;
use weir_http::{
    BodyScanner, Dechunker, Framing, HeadLimits, HeaderTable, Lenient, Repair, ResponseHead, ResponseTo,
    parse_response,
};
use weir_net::Stream;

use super::probe::Failure;

/// Maximum length of the body that is searched for the expected text, in bytes.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// Maximum length of the body on the wire, in bytes; chunked coding makes it longer.
const WIRE_BYTES_MAX: usize = 4 * BODY_BYTES_MAX;
const READ_BYTES: usize = 16 * 1024;

/// Sends the request and judges the response. Returns the response's status.
pub(super) async fn exchange(
    mut stream: Stream,
    check: &HttpCheck,
    host: &str,
    lenient: Lenient,
) -> Result<u16, Failure> {
    write_all(&mut stream, &request(check, host)).await.map_err(|error| broken("request", &error))?;
    let mut received = Vec::new();
    let mut table = HeaderTable::new();
    let head = read_head(&mut stream, check, lenient, &mut received, &mut table).await?;
    judge_head(check, &head, &received, &table)?;
    if let Some(expected) = &check.expect_body {
        received.drain(..head.head_bytes as usize);
        let found = find_in_body(&mut stream, head.framing, received, expected.as_bytes()).await;
        found.map_err(|failure| Failure { status: Some(head.status), ..failure })?;
    }
    Ok(head.status)
}

fn request(check: &HttpCheck, host: &str) -> Vec<u8> {
    let mut text = format!("{} {} HTTP/1.1\r\n", check.method, check.path);
    let mut line = |name: &str, value: &str| {
        text.push_str(name);
        text.push_str(": ");
        text.push_str(value);
        text.push_str("\r\n");
    };
    let has = |name: &str| check.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    if !has("host") {
        line("Host", check.host.as_deref().unwrap_or(host));
    }
    if !has("user-agent") {
        line("User-Agent", "weir");
    }
    // A request with a method that usually has a body must state that it has none (RFC 9110 section 8.6).
    if matches!(check.method.as_str(), "POST" | "PUT" | "PATCH") && !has("content-length") {
        line("Content-Length", "0");
    }
    for (name, value) in &check.headers {
        line(name, value);
    }
    if !has("connection") {
        line("Connection", "close");
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// Reads the head of the final response to the start of `received`, and skips interim responses.
async fn read_head(
    stream: &mut Stream,
    check: &HttpCheck,
    lenient: Lenient,
    received: &mut Vec<u8>,
    table: &mut HeaderTable,
) -> Result<ResponseHead, Failure> {
    const INTERIM_MAX: usize = 16;
    let to = ResponseTo { is_head: check.method == "HEAD", ..ResponseTo::default() };
    let limits = HeadLimits::default();
    let mut interim = 0;
    loop {
        let parsed = match parse_response(received, to, &limits, table) {
            // Repairs the same errors as in responses to requests.
            Err(error) if lenient.may_mend(&error) => match lenient.repair(received, &limits) {
                Repair::Incomplete => Ok(None),
                Repair::Refused => Err(error),
                Repair::Written(written) => {
                    *received = written;
                    parse_response(received, to, &limits, table)
                }
            },
            parsed => parsed,
        };
        match parsed {
            Err(error) => return Err(Failure::new(CheckCode::L7Broken, format!("response: {error}"))),
            Ok(Some(head)) if head.is_interim() => {
                interim += 1;
                if interim > INTERIM_MAX {
                    return Err(Failure::new(CheckCode::L7Broken, "response: interim responses without end"));
                }
                received.drain(..head.head_bytes as usize);
            }
            Ok(Some(head)) => return Ok(head),
            Ok(None) => {
                read_line(stream, received, limits.head_bytes_max as usize).await?;
            }
        }
    }
}

/// Reads until another line or the maximum has arrived, so that slow bytes do not cause one parse each.
async fn read_line(stream: &mut Stream, received: &mut Vec<u8>, bytes_max: usize) -> Result<(), Failure> {
    loop {
        let before = received.len();
        if read(stream, received).await.map_err(|error| broken("response", &error))? == 0 {
            let text = if before == 0 { "closed without a response" } else { "closed within the head" };
            return Err(Failure::new(CheckCode::L7Broken, text));
        }
        if received[before..].contains(&b'\n') || received.len() >= bytes_max {
            return Ok(());
        }
    }
}

fn judge_head(
    check: &HttpCheck,
    head: &ResponseHead,
    received: &[u8],
    table: &HeaderTable,
) -> Result<(), Failure> {
    let unexpected =
        |text: String| Failure { code: CheckCode::L7Unexpected, status: Some(head.status), text };
    if !check.expect_status.iter().any(|(first, last)| (*first..=*last).contains(&head.status)) {
        let reason = String::from_utf8_lossy(head.reason.of(received)).into_owned();
        let text = format!("status {} {reason}", head.status);
        return Err(unexpected(text.trim_end().to_owned()));
    }
    let Some((name, expected)) = &check.expect_header else { return Ok(()) };
    let mut values =
        table.named(received, name.as_bytes()).map(|entry| entry.value().of(received)).peekable();
    if values.peek().is_none() {
        return Err(unexpected(format!("header {name} is missing")));
    }
    if values.any(|value| contains(value, expected.as_bytes())) {
        return Ok(());
    }
    Err(unexpected(format!("header {name} does not contain {expected:?}")))
}

/// Searches the start of the body for `expected`. `received` holds the bytes that arrived with the head.
async fn find_in_body(
    stream: &mut Stream,
    framing: Framing,
    mut received: Vec<u8>,
    expected: &[u8],
) -> Result<(), Failure> {
    let mut scanner = BodyScanner::new(framing);
    let mut dechunker = Dechunker::of_response();
    let (mut body, mut searched, mut wire_bytes) = (Vec::new(), 0, 0);
    loop {
        let chunked = framing == Framing::Chunked;
        let fed = match chunked {
            true => dechunker.feed(&received, |data| body.extend_from_slice(data)),
            false => scanner.feed(&received).inspect(|bytes| body.extend_from_slice(&received[..*bytes])),
        };
        fed.map_err(|error| Failure::new(CheckCode::L7Broken, format!("body: {error}")))?;
        wire_bytes += received.len();
        body.truncate(BODY_BYTES_MAX);
        if contains(&body[searched..], expected) {
            return Ok(());
        }
        // The text may begin in these bytes and end in the next ones.
        searched = (body.len() + 1).saturating_sub(expected.len()).max(searched);
        let is_done = if chunked { dechunker.is_done() } else { scanner.is_done() };
        if is_done || body.len() >= BODY_BYTES_MAX || wire_bytes >= WIRE_BYTES_MAX {
            break;
        }
        received.clear();
        if read(stream, &mut received).await.map_err(|error| broken("body", &error))? == 0 {
            if framing == Framing::UntilClose {
                break;
            }
            return Err(Failure::new(CheckCode::L7Broken, "closed within the body"));
        }
    }
    let expected = String::from_utf8_lossy(expected);
    Err(Failure::new(CheckCode::L7Unexpected, format!("body does not contain {expected:?}")))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

async fn write_all(stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match poll_fn(|cx| stream.poll_write(cx, rest)).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => rest = &rest[written..],
        }
    }
    poll_fn(|cx| stream.poll_flush(cx)).await
}

/// Appends received bytes and returns their number; 0 = end of the stream.
async fn read(stream: &mut Stream, received: &mut Vec<u8>) -> io::Result<usize> {
    let before = received.len();
    received.resize(before + READ_BYTES, 0);
    let read = poll_fn(|cx| stream.poll_read(cx, &mut received[before..])).await;
    received.truncate(before + read.as_ref().copied().unwrap_or(0));
    read
}

fn broken(what: &str, error: &io::Error) -> Failure {
    Failure::of_socket(CheckCode::L7Broken, what, error)
}
