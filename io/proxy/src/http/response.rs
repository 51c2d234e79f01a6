//! Reads a server's response head, rewrites it, and forwards it together with the first bytes of the body.

use std::io;
use std::task::{Context, Poll};

use weir_config::plan::OffloadPlan;
use weir_http::{
    BodyScanner, Framing, HeadLimits, HeaderTable, KnownHeader, Lenient, OffloadOrder, Repair, RequestText,
    ResponseContext, ResponseHead, ResponseTo, Scheme, Version, is_worth_parsing, parse_response,
};
use weir_net::Stream;

use super::connection::ClientTlsFacts;
use super::exchange::ClientSide;
use super::outcome::Fault;
use super::request::RequestFacts;
use super::timing::Timing;
use crate::pump::Pump;
use crate::state::ServerState;
use crate::sticky::Bond;

/// Size of the first read: small enough to leave the body of a large response in the kernel, from where it
/// can be spliced.
pub(crate) const FIRST_READ: usize = 4 * 1024;
/// Size of the first read if nothing can be spliced; then one large read is cheaper than several.
const FIRST_READ_COPY: usize = 64 * 1024;
/// Limits for response heads. Servers may send larger heads than clients, but not of any size.
pub(super) const LIMITS: HeadLimits =
    HeadLimits { head_bytes_max: 128 * 1024, headers_max: 256, target_bytes_max: 0 };

/// Maximum size of interim heads that are kept for a client without room; with more, the server must wait.
const UNSENT_MAX: usize = 16 * 1024;

/// Facts of a response once its head has arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseFacts {
    pub(crate) status: u16,
    pub(crate) head_bytes: u32,
    /// True if the body has a known length, and most of it is spliced.
    pub(crate) spliced: bool,
    /// True if the server's connection can be used again after the body.
    pub(crate) server_keeps: bool,
    /// True if the client's connection can be used again after the body.
    pub(crate) client_keeps: bool,
}

/// Result of reading a response head.
#[derive(Debug)]
pub(crate) enum HeadOutcome {
    /// A 1xx was forwarded; another head follows.
    Interim,
    /// A 1xx arrived that is not for the client; another head follows.
    Skipped,
    /// The final head was forwarded; its body follows.
    Final(ResponseFacts, Pump),
    /// A final head arrived that must not be forwarded yet; it is kept.
    Hold(ResponseFacts),
    /// The final head names a file to send to the client; nothing was forwarded. The rest of the body must be
    /// discarded.
    Offload(ResponseFacts, Box<OffloadOrder>, Leftover),
    /// A 101 was forwarded; a tunnel follows.
    Tunnel(ResponseFacts, Pump),
    /// The client could not be written to.
    ClientGone,
}

/// Rest of a body that is discarded.
#[derive(Debug)]
pub(crate) struct Leftover {
    pub(crate) scanner: BodyScanner,
    /// True if the server has sent more than its body.
    pub(crate) has_surplus: bool,
}

/// Context for reading a response head, and buffers for incomplete heads.
pub(crate) struct Reading<'a> {
    pub(crate) request: &'a RequestFacts,
    pub(crate) timing: &'a mut Timing,
    /// An incomplete head, or the bytes after an interim one.
    pub(crate) partial: &'a mut Vec<u8>,
    /// Interim heads for which the client had no room.
    pub(crate) unsent: &'a mut Vec<u8>,
    pub(crate) pool: &'a str,
    pub(crate) server: &'a ServerState,
    /// Binding of the request to its server, which determines the change to cookies.
    pub(crate) bond: Option<&'a mut Bond>,
    /// True if the whole request has gone to the server. Otherwise the rest of it is not read, and the
    /// client's connection ends.
    pub(crate) request_done: bool,
    /// True if the body can be spliced, provided that it is long enough.
    pub(crate) spliceable: bool,
    /// Size of the first read if most of the body is likely to be spliced; `None` = no prediction.
    pub(crate) first_read_bytes: Option<usize>,
    pub(crate) scheme: Scheme,
    /// Errors of the head that are repaired.
    pub(crate) lenient: Lenient,
    /// Rules for files that the pool's servers may name; `None` = they may name none.
    pub(crate) offload: Option<&'a OffloadPlan>,
    /// Subrequest about an upload, if there was one.
    pub(crate) asked: Asked,
}

/// Subrequest about an upload whose body stays in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// None: the server has the request itself.
    Nothing,
    /// Request for permission and for the path of an upload.
    Before,
    /// Request to confirm an upload. A positive response is forwarded only when the upload is visible.
    After {
        /// True if the upload is visible.
        visible: bool,
    },
}

/// Reads until one head is complete, and forwards it.
pub(crate) fn poll_head(
    cx: &mut Context<'_>,
    server: &mut Stream,
    client: &mut ClientSide<'_>,
    reading: &mut Reading<'_>,
) -> Poll<Result<HeadOutcome, Fault>> {
    if reading.unsent.len() > UNSENT_MAX {
        match send_now(cx, client.stream, reading.unsent) {
            Ok(sent) => drop(reading.unsent.drain(..sent)),
            Err(_) => return Poll::Ready(Ok(HeadOutcome::ClientGone)),
        }
        if reading.unsent.len() > UNSENT_MAX {
            return Poll::Pending;
        }
    }
    if !reading.partial.is_empty() {
        let partial = std::mem::take(reading.partial);
        match pass(cx, Received::Kept(&partial), client, reading)? {
            None => *reading.partial = partial,
            Some(held @ HeadOutcome::Hold(_)) => {
                *reading.partial = partial;
                return Poll::Ready(Ok(held));
            }
            Some(outcome) => {
                client.worker.buffers.give(partial);
                return Poll::Ready(Ok(outcome));
            }
        }
    }
    loop {
        let window = match reading.first_read_bytes {
            _ if !reading.spliceable => FIRST_READ_COPY,
            Some(bytes) if reading.partial.is_empty() => bytes.min(FIRST_READ),
            _ => FIRST_READ,
        };
        let read = {
            let mut scratch = client.worker.scratch.borrow_mut();
            let buffer = &mut scratch.body()[..window];
            // Then it is known without another read whether bytes follow a spliced body.
            let polled = match reading.first_read_bytes {
                Some(_) => server.poll_read_counting(cx, buffer),
                None => server.poll_read(cx, buffer),
            };
            match polled {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) if reading.timing.first_byte_came() => {
                    return Poll::Ready(Err(Fault::ClosedInHead));
                }
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(Fault::ClosedEarly)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Fault::NoResponse(error))),
                Poll::Ready(Ok(read)) => read,
            }
        };
        if !reading.timing.first_byte_came() {
            reading.timing.first_byte(client.worker.now());
        }
        let passed = if reading.partial.is_empty() {
            pass(cx, Received::Scratch(read), client, reading)?
        } else {
            let mut partial = std::mem::take(reading.partial);
            let before = partial.len();
            partial.extend_from_slice(&client.worker.scratch.borrow_mut().body()[..read]);
            if !is_worth_parsing(&partial, before) {
                *reading.partial = partial;
                continue;
            }
            let passed = pass(cx, Received::Kept(&partial), client, reading)?;
            match &passed {
                Some(HeadOutcome::Hold(_)) | None => *reading.partial = partial,
                Some(_) => client.worker.buffers.give(partial),
            }
            passed
        };
        if matches!(passed, Some(HeadOutcome::Hold(_))) && reading.partial.is_empty() {
            let mut scratch = client.worker.scratch.borrow_mut();
            *reading.partial = client.worker.buffers.take_with(&scratch.body()[..read]);
        }
        match passed {
            Some(outcome) => return Poll::Ready(Ok(outcome)),
            None if reading.partial.is_empty() => {
                let mut scratch = client.worker.scratch.borrow_mut();
                *reading.partial = client.worker.buffers.take_with(&scratch.body()[..read]);
            }
            None => {}
        }
    }
}

/// Location of the bytes read so far.
#[derive(Clone, Copy)]
enum Received<'a> {
    /// The first bytes, as many as the number says, of the scratch buffer's body.
    Scratch(usize),
    /// This slice.
    Kept(&'a [u8]),
}

/// Forwards the head if it is complete; `None` = it is not.
fn pass(
    cx: &mut Context<'_>,
    received: Received<'_>,
    client: &mut ClientSide<'_>,
    reading: &mut Reading<'_>,
) -> Result<Option<HeadOutcome>, Fault> {
    let worker = client.worker;
    let mut scratch = worker.scratch.borrow_mut();
    let mut table = worker.headers.borrow_mut();
    let mut out = worker.out.borrow_mut();
    let buf = match received {
        Received::Scratch(read) => &scratch.body()[..read],
        Received::Kept(kept) => kept,
    };
    let to = reading.request.response_to();
    let mended;
    let (buf, received, parsed) = match parse_response(buf, to, &LIMITS, &mut table) {
        Err(error) if reading.lenient.may_mend(&error) => match reading.lenient.repair(buf, &LIMITS) {
            Repair::Incomplete => return Ok(None),
            Repair::Refused => return Err(Fault::BadResponse(error)),
            Repair::Written(written) => {
                mended = written;
                let parsed = parse_response(&mended, to, &LIMITS, &mut table);
                (mended.as_slice(), Received::Kept(&mended), parsed)
            }
        },
        parsed => (buf, received, parsed),
    };
    let Some(head) = parsed.map_err(Fault::BadResponse)? else {
        return Ok(None);
    };
    head.fits_upgrade(buf, reading.request.upgrade.as_deref(), reading.request_done)
        .map_err(Fault::BadResponse)?;
    let body_at = head.head_bytes as usize;
    out.clear();
    // An interim response to a subrequest is not for the client, whose body is not requested yet or has
    // already arrived.
    let is_for_client = reading.asked == Asked::Nothing && reading.request.version != Version::Http10;
    if head.is_interim() && !is_for_client {
        reading.partial.extend_from_slice(&buf[body_at..]);
        return Ok(Some(HeadOutcome::Skipped));
    }
    if let (Some(bond), false) = (&mut reading.bond, head.is_interim()) {
        bond.answered(reading.server, buf, &table, worker.now());
    }
    let is_yes = (200..300).contains(&head.status);
    if is_yes && reading.asked == (Asked::After { visible: false }) {
        return Ok(Some(HeadOutcome::Hold(facts(&head, false))));
    }
    if let Some(offload) = reading.offload.filter(|_| !head.is_interim())
        && let Some(order) = OffloadOrder::of(&head, buf, &table, offload.x_sendfile)
    {
        let leftover = leftover(&head, &buf[body_at..])?;
        return Ok(Some(HeadOutcome::Offload(facts(&head, false), Box::new(order), leftover)));
    }
    if is_yes && reading.asked == Asked::Before {
        return Err(Fault::NoPlace);
    }
    let tls = client.tls.map(ClientTlsFacts::names);
    let date = (!table.has(KnownHeader::Date)).then(|| worker.http_date());
    let context = ResponseContext {
        exchange: client.names(reading, tls.as_ref()),
        request: reading.request.text(),
        server_scheme: reading.scheme,
        client_version: reading.request.version,
        date: date.as_deref().unwrap_or_default(),
        keep_alive: reading.request.keep_alive && reading.request_done && client.may_keep_alive(),
        cookie: reading.bond.as_deref().and_then(Bond::edit),
        from_server: true,
    };
    let http = &client.listener.http;
    let written = http.forwarder.write_response(
        &mut out,
        buf,
        &head,
        &table,
        &http.routes[reading.request.route].rewriter,
        &context,
    );
    if head.is_interim() {
        reading.partial.extend_from_slice(&buf[body_at..]);
        reading.unsent.extend_from_slice(&out);
        let sent = send_now(cx, client.stream, reading.unsent);
        return Ok(Some(match sent {
            Ok(sent) => {
                reading.unsent.drain(..sent);
                HeadOutcome::Interim
            }
            Err(_) => HeadOutcome::ClientGone,
        }));
    }
    let tunnel = head.status == 101;
    let framing = if tunnel { Framing::UntilClose } else { head.framing };
    let mut download = match (tunnel, head.upgrade) {
        (true, Some(protocol)) => Pump::new(BodyScanner::of_upgrade(protocol.of(buf))),
        _ => pump(framing, reading.offload.is_some(), buf, &table),
    };
    if written.dechunk {
        download.dechunk();
    }
    let body = download.take_first(&buf[body_at..]).map_err(Fault::BadChunks)?;
    let more = reading.spliceable && download.is_spliceable();
    // Of a chunked body, only the size of the present chunk is known.
    let spliced = more && matches!(framing, Framing::Length(_));
    let facts = ResponseFacts { spliced, ..facts(&head, written.keep_alive) };
    let sent = match (&body, received) {
        // The usual case: head and body are adjacent and are sent with one call.
        (None, Received::Scratch(_)) if reading.unsent.is_empty() => {
            let end = body_at + download.bytes_read as usize;
            match scratch.splice_head(&out, body_at, end) {
                Some(message) => send(cx, client, message, &mut download, more),
                None => {
                    out.extend_from_slice(&scratch.body()[body_at..end]);
                    send(cx, client, &out, &mut download, more)
                }
            }
        }
        _ => {
            let mut message = std::mem::take(reading.unsent);
            message.extend_from_slice(&out);
            match &body {
                Some(changed) => message.extend_from_slice(changed),
                None => message.extend_from_slice(&buf[body_at..body_at + download.bytes_read as usize]),
            }
            send(cx, client, &message, &mut download, more)
        }
    };
    Ok(Some(match sent {
        Err(_) => HeadOutcome::ClientGone,
        Ok(()) if tunnel => HeadOutcome::Tunnel(facts, download),
        Ok(()) => HeadOutcome::Final(facts, download),
    }))
}

/// Creates the pump for a body. A large one is forwarded in batches, unless the server asks for no buffering
/// and `is_heard` permits it to.
fn pump(framing: Framing, is_heard: bool, buf: &[u8], table: &HeaderTable) -> Pump {
    let mut pump = Pump::new(BodyScanner::of_response(framing));
    if !is_heard || !OffloadOrder::is_unbuffered(buf, table) {
        pump.batch();
    }
    pump
}

/// Returns the part of the body that is still to come after these discarded bytes.
fn leftover(head: &ResponseHead, begun: &[u8]) -> Result<Leftover, Fault> {
    let mut scanner = BodyScanner::of_response(head.framing);
    let taken = scanner.feed(begun).map_err(Fault::BadChunks)?;
    Ok(Leftover { scanner, has_surplus: taken < begun.len() })
}

fn facts(head: &ResponseHead, client_keeps: bool) -> ResponseFacts {
    ResponseFacts {
        status: head.status,
        head_bytes: head.head_bytes,
        spliced: false,
        server_keeps: head.keep_alive && head.framing != Framing::UntilClose,
        client_keeps,
    }
}

/// Sends `message` as far as the client has room; the pump keeps the rest. With `more`, the pump splices at
/// once afterwards, which saves a segment and a wake-up of the client.
fn send(
    cx: &mut Context<'_>,
    client: &mut ClientSide<'_>,
    message: &[u8],
    download: &mut Pump,
    more: bool,
) -> io::Result<()> {
    let sent = if more {
        download.sink_holds();
        match client.stream.poll_write_more(cx, message) {
            Poll::Pending => 0,
            Poll::Ready(sent) => sent?,
        }
    } else {
        send_now(cx, client.stream, message)?
    };
    download.sent(sent);
    if sent < message.len() {
        download.keep(client.worker, &message[sent..]);
    }
    Ok(())
}

fn send_now(cx: &mut Context<'_>, stream: &mut Stream, message: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while sent < message.len() {
        match stream.poll_write(cx, &message[sent..]) {
            Poll::Pending => break,
            Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
            Poll::Ready(Ok(written)) => sent += written,
            Poll::Ready(Err(error)) => return Err(error),
        }
    }
    Ok(sent)
}

impl RequestFacts {
    fn response_to(&self) -> ResponseTo {
        ResponseTo { is_head: self.is_head, is_connect: false, upgrade: self.upgrade.is_some() }
    }

    pub(super) fn text(&self) -> RequestText<'_> {
        self.copy.as_ref().map(|copy| RequestText::of(&copy.parsed, &copy.head)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if a large body after these lines is forwarded in batches.
    fn goes_in_batches(lines: &str, is_heard: bool) -> bool {
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n{lines}\r\n");
        let mut table = HeaderTable::new();
        let head = parse_response(text.as_bytes(), ResponseTo::default(), &LIMITS, &mut table);
        pump(head.unwrap().unwrap().framing, is_heard, text.as_bytes(), &table).may_batch()
    }

    #[test]
    fn a_server_that_wants_no_buffering_has_no_piece_kept_for_a_batch() {
        assert!(!goes_in_batches("X-Accel-Buffering: no\r\n", true));
        assert!(goes_in_batches("X-Accel-Buffering: yes\r\n", true));
        assert!(goes_in_batches("", true));
    }

    #[test]
    fn a_server_of_a_pool_without_offload_is_not_heard_about_buffering() {
        assert!(goes_in_batches("X-Accel-Buffering: no\r\n", false));
    }
}
