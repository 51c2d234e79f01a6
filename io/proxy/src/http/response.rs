//! Reads a server's response head, rewrites it, and sends it on together with what came of the body.

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

/// A first read no larger than this leaves the body of a large response in the kernel, from where it can be spliced.
pub(crate) const FIRST_READ: usize = 4 * 1024;
/// Where nothing can be spliced, one large read is cheaper than several.
const FIRST_READ_COPY: usize = 64 * 1024;
/// Servers are trusted with larger heads than clients, but not with all memory.
pub(super) const LIMITS: HeadLimits =
    HeadLimits { head_bytes_max: 128 * 1024, headers_max: 256, target_bytes_max: 0 };

/// So much of interim heads is kept for a client that has no room for them; then the server must wait.
const UNSENT_MAX: usize = 16 * 1024;

/// What is known of a response once its head has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseFacts {
    pub(crate) status: u16,
    pub(crate) head_bytes: u32,
    /// Its body has a known length, and most of it is spliced.
    pub(crate) spliced: bool,
    /// The server's connection can be used again after the body.
    pub(crate) server_keeps: bool,
    /// The client's connection can be used again after the body.
    pub(crate) client_keeps: bool,
}

/// What reading a response head has come to.
#[derive(Debug)]
pub(crate) enum HeadOutcome {
    /// A 1xx was passed on; another head follows.
    Interim,
    /// A 1xx has come that is not for the client; another head follows.
    Skipped,
    /// The final head was passed on; its body follows.
    Final(ResponseFacts, Pump),
    /// A final head has come that must not be passed on yet; it is kept.
    Hold(ResponseFacts),
    /// The final head names a file that the client is to get; nothing was passed on. What is left of the body follows.
    Offload(ResponseFacts, Box<OffloadOrder>, Leftover),
    /// 101 was passed on; a tunnel follows.
    Tunnel(ResponseFacts, Pump),
    /// The client could not be written to.
    ClientGone,
}

/// What is left of a body that nobody wants.
#[derive(Debug)]
pub(crate) struct Leftover {
    pub(crate) scanner: BodyScanner,
    /// The server has sent more than its body.
    pub(crate) has_surplus: bool,
}

/// What a response head is read for, and where its pieces are kept meanwhile.
pub(crate) struct Reading<'a> {
    pub(crate) request: &'a RequestFacts,
    pub(crate) timing: &'a mut Timing,
    /// A head that has not all come, or what came behind an interim one.
    pub(crate) partial: &'a mut Vec<u8>,
    /// Interim heads that the client had no room for.
    pub(crate) unsent: &'a mut Vec<u8>,
    pub(crate) pool: &'a str,
    pub(crate) server: &'a ServerState,
    /// What binds the request to its server; tells what becomes of cookies.
    pub(crate) bond: Option<&'a mut Bond>,
    /// All of the request has gone to the server. Else nobody may read the rest of it, and the client's connection ends.
    pub(crate) request_done: bool,
    /// The body can be spliced, if it is long enough.
    pub(crate) spliceable: bool,
    /// So little is enough to be read at first, for most of the body is likely to be spliced. `None` = nobody knows.
    pub(crate) first_read_bytes: Option<usize>,
    pub(crate) scheme: Scheme,
    /// Faults of the head that are mended.
    pub(crate) lenient: Lenient,
    /// What the pool's servers may have sent by naming it; `None` = nothing.
    pub(crate) offload: Option<&'a OffloadPlan>,
    /// What the server was asked about an upload.
    pub(crate) asked: Asked,
}

/// What a server was asked about an upload whose body stays here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nothing: it has the request as it is.
    Nothing,
    /// Whether there may be one, and where.
    Before,
    /// Whether it is as it should be. Its yes is passed on only when the upload is visible.
    After {
        /// It is.
        visible: bool,
    },
}

/// Reads on until one head is complete, and passes it on.
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
            // Whether something follows a body that is spliced is then known without a look.
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

/// Where the bytes read so far are.
#[derive(Clone, Copy)]
enum Received<'a> {
    /// The first so many of the scratch buffer's body.
    Scratch(usize),
    /// Here.
    Kept(&'a [u8]),
}

/// Passes the head on if it has all come; `None` = it has not.
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
    // What is said before the answer to a question is not for a client whose body has yet to be asked for, or has come.
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
    // Of a chunked one no more is known than that one chunk is large.
    let spliced = more && matches!(framing, Framing::Length(_));
    let facts = ResponseFacts { spliced, ..facts(&head, written.keep_alive) };
    let sent = match (&body, received) {
        // The usual case: head and body lie next to each other and go out with one call.
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

/// What moves a body on. A large one goes in batches, unless a server whose word on that is heard wants each piece passed
/// on as it comes.
fn pump(framing: Framing, is_heard: bool, buf: &[u8], table: &HeaderTable) -> Pump {
    let mut pump = Pump::new(BodyScanner::of_response(framing));
    if !is_heard || !OffloadOrder::is_unbuffered(buf, table) {
        pump.batch();
    }
    pump
}

/// What of a body is still to come when these bytes of it are thrown away.
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

/// Sends `message` as far as the client has room; the pump keeps the rest. With `more` the pump splices on at once: one
/// segment less, and one wake-up of the client less.
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

    /// Whether a large body behind these lines goes in batches.
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
