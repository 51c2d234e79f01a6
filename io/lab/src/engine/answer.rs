//! Reads HTTP/1 responses.

mod digests;
mod fields;

use weir_dav::digest::{Digest, Hasher};
use weir_http::{
    BodyScanner, Dechunker, Framing, HeadLimits, HeaderTable, ResponseTo, is_worth_parsing, parse_response,
};

use super::onward::is_onward;
use super::servers::ServerNames;
use crate::record::Fault;
use crate::target::Verify;

/// Reader of one response. It is strict (RFC 9112): an ambiguous response is a fault.
#[derive(Debug)]
pub(super) struct Answer {
    /// Beginning of an incomplete head.
    partial: Vec<u8>,
    state: State,
    is_head: bool,
    pub(super) status: u16,
    pub(super) head_bytes: u32,
    /// Bytes of the body, without framing.
    pub(super) body_bytes: u64,
    pub(super) keep_alive: bool,
    pub(super) server: Option<u32>,
    /// Target of a redirect.
    pub(super) location: Option<Box<[u8]>>,
    check: Option<(Hasher, Digest)>,
    /// Set when the request is an upload that should be verified.
    is_upload: bool,
    /// The server's digests of the received bytes, with hashers over the response body. The hashers detect a
    /// digest that belongs to the response itself.
    told: Vec<(Hasher, Digest)>,
    /// Result of the check of an accepted upload.
    pub(super) verified: Option<bool>,
}

#[derive(Debug)]
enum State {
    Head,
    Body(BodyScanner),
    Chunks(Dechunker),
    Done,
}

/// State that all responses of a thread share.
#[derive(Debug)]
pub(super) struct Reader<'l> {
    pub(super) table: HeaderTable,
    pub(super) limits: HeadLimits,
    pub(super) verify: Option<&'l Verify>,
    /// Name of the header with the server's name; empty = none.
    pub(super) server_header: &'l str,
    pub(super) servers: ServerNames<'l>,
    /// Set when redirects are followed.
    pub(super) follows: bool,
    /// Server header of the first response, after it has arrived.
    pub(super) software: Option<String>,
}

impl Reader<'_> {
    fn note_software(&mut self, header: impl FnOnce(&HeaderTable) -> Option<String>) {
        if self.software.is_none() {
            self.software = Some(header(&self.table).unwrap_or_default());
        }
    }
}

impl Answer {
    pub(super) fn new(is_head: bool, is_upload: bool) -> Self {
        Self {
            partial: Vec::new(),
            state: State::Head,
            is_head,
            status: 0,
            head_bytes: 0,
            body_bytes: 0,
            keep_alive: false,
            server: None,
            location: None,
            check: None,
            is_upload,
            told: Vec::new(),
            verified: None,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Returns the number of body bytes that only have to be counted.
    pub(super) fn discardable(&self) -> u64 {
        match &self.state {
            State::Body(BodyScanner::Length(left)) if self.check.is_none() && self.told.is_empty() => *left,
            _ => 0,
        }
    }

    /// Counts `bytes` discarded bytes as read. Returns how many of them belong to this response.
    pub(super) fn skip(&mut self, bytes: u64) -> u64 {
        let State::Body(body) = &mut self.state else { return 0 };
        let taken = bytes.min(body.remaining_exact().unwrap_or(bytes));
        body.skip(taken);
        self.body_bytes += taken;
        if body.is_done() {
            self.state = State::Done;
        }
        taken
    }

    /// Reads the bytes that have arrived. Returns how many of them belong to this response.
    pub(super) fn feed(&mut self, bytes: &[u8], reader: &mut Reader<'_>) -> Result<usize, Fault> {
        let mut at = 0;
        if matches!(self.state, State::Head) {
            if self.partial.is_empty() {
                at = self.read_heads(bytes, reader)?;
                if matches!(self.state, State::Head) {
                    self.partial.extend_from_slice(&bytes[at..]);
                    return Ok(bytes.len());
                }
            } else {
                let before = self.partial.len();
                self.partial.extend_from_slice(bytes);
                if !is_worth_parsing(&self.partial, before) {
                    return Ok(bytes.len());
                }
                let partial = std::mem::take(&mut self.partial);
                let taken = self.read_heads(&partial, reader)?;
                if matches!(self.state, State::Head) {
                    self.partial = partial;
                    self.partial.drain(..taken);
                    return Ok(bytes.len());
                }
                // The head ends within the bytes that completed it.
                at = taken.saturating_sub(before);
            }
        }
        Ok(at + self.read_body(&bytes[at..])?)
    }

    /// Handles the end of the connection. Returns an error if the response is incomplete.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        match &self.state {
            State::Head if self.partial.is_empty() => Err(Fault::Closed),
            State::Body(body) if body.may_end_here() => self.complete(),
            State::Done => Ok(()),
            _ => Err(Fault::Truncated),
        }
    }

    /// Reads interim heads and the final head, as far as they have arrived. Returns their size.
    fn read_heads(&mut self, bytes: &[u8], reader: &mut Reader<'_>) -> Result<usize, Fault> {
        let to = ResponseTo { is_head: self.is_head, is_connect: false, upgrade: false };
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            if rest.is_empty() {
                return Ok(at);
            }
            let parsed = parse_response(rest, to, &reader.limits, &mut reader.table);
            let Some(head) = parsed.map_err(|_| Fault::Framing)? else { return Ok(at) };
            at += head.head_bytes as usize;
            self.head_bytes = self.head_bytes.saturating_add(head.head_bytes);
            if head.is_interim() {
                continue;
            }
            self.status = head.status;
            self.keep_alive = head.keep_alive;
            reader.note_software(|table| {
                let mut named = table.named(rest, b"server");
                named.next().map(|entry| String::from_utf8_lossy(entry.value().of(rest)).into_owned())
            });
            if !reader.server_header.is_empty() {
                let mut named = reader.table.named(rest, reader.server_header.as_bytes());
                self.server =
                    named.next().map(|entry| entry.value().of(rest)).and_then(|n| reader.servers.number(n));
            }
            if reader.follows && is_onward(head.status) {
                let mut named = reader.table.named(rest, b"location");
                self.location = named.next().map(|entry| entry.value().of(rest).into());
            }
            let (verify, table) = (reader.verify, &reader.table);
            self.expect(verify, |name| {
                table.named(rest, name.as_bytes()).map(|entry| entry.value().of(rest))
            })?;
            self.state = match head.framing {
                Framing::Chunked => State::Chunks(Dechunker::of_response()),
                other => State::Body(BodyScanner::new(other)),
            };
            if matches!(&self.state, State::Body(body) if body.is_done()) {
                self.complete()?;
            }
            return Ok(at);
        }
    }

    fn read_body(&mut self, bytes: &[u8]) -> Result<usize, Fault> {
        let (taken, is_done) = match &mut self.state {
            State::Head | State::Done => return Ok(0),
            State::Body(body) => {
                let taken = body.feed(bytes).map_err(|_| Fault::Framing)?;
                self.body_bytes += taken as u64;
                for (hasher, _) in self.check.iter_mut().chain(&mut self.told) {
                    hasher.update(&bytes[..taken]);
                }
                (taken, body.is_done())
            }
            State::Chunks(chunks) => {
                let (total, check, told) = (&mut self.body_bytes, &mut self.check, &mut self.told);
                let taken = chunks.feed(bytes, |data| {
                    *total += data.len() as u64;
                    for (hasher, _) in check.iter_mut().chain(told.iter_mut()) {
                        hasher.update(data);
                    }
                });
                (taken.map_err(|_| Fault::Framing)?, chunks.is_done())
            }
        };
        if is_done {
            self.complete()?;
        }
        Ok(taken)
    }

    fn complete(&mut self) -> Result<(), Fault> {
        self.state = State::Done;
        match self.check.take() {
            Some((hasher, digest)) if hasher.clone().finish() != digest => Err(Fault::Checksum),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use weir_dav::digest::Algorithm;

    use super::*;

    fn read(text: &[u8], verify: Option<&Verify>, piece: usize) -> Result<(Answer, usize), Fault> {
        let names = Mutex::new(Vec::new());
        let mut reader = Reader {
            table: HeaderTable::new(),
            limits: HeadLimits::default(),
            verify,
            server_header: "X-Origin",
            servers: ServerNames::new(&names),
            follows: false,
            software: None,
        };
        let (mut answer, mut taken) = (Answer::new(false, false), 0);
        for piece in text.chunks(piece) {
            if answer.is_done() {
                break;
            }
            taken += answer.feed(piece, &mut reader)?;
        }
        Ok((answer, taken))
    }

    const PLAIN: &[u8] =
        b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nX-Origin: a\r\nContent-Length: 5\r\n\r\nhello";
    const CHUNKED: &[u8] =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";

    #[test]
    fn an_answer_is_read_whatever_the_pieces_it_comes_in() {
        for text in [PLAIN, CHUNKED] {
            for piece in 1..=text.len() {
                let (answer, taken) = read(text, None, piece).unwrap();
                assert!(answer.is_done(), "pieces of {piece}");
                assert_eq!(
                    (answer.status, answer.body_bytes, taken),
                    (200, 5, text.len()),
                    "pieces of {piece}"
                );
            }
        }
        assert_eq!(read(PLAIN, None, 7).unwrap().0.server, Some(0));
    }

    #[test]
    fn surplus_bytes_are_not_taken() {
        let mut text = PLAIN.to_vec();
        text.extend_from_slice(b"more");
        assert_eq!(read(&text, None, 1_000).unwrap().1, PLAIN.len());
    }

    #[test]
    fn bytes_beyond_the_announced_length_are_not_skipped() {
        let (mut answer, _) = read(&PLAIN[..PLAIN.len() - 5], None, 1_000).unwrap();
        assert_eq!((answer.discardable(), answer.skip(7)), (5, 5));
        assert!(answer.is_done());
        assert_eq!(answer.body_bytes, 5);
    }

    #[test]
    fn a_body_that_ends_early_is_truncated_and_one_without_a_length_ends_with_the_connection() {
        let (mut short, _) = read(&PLAIN[..PLAIN.len() - 1], None, 1_000).unwrap();
        assert_eq!(short.end(), Err(Fault::Truncated));
        let (mut head, _) = read(&PLAIN[..50], None, 1_000).unwrap();
        assert_eq!(head.end(), Err(Fault::Truncated));
        let (mut open, _) = read(b"HTTP/1.1 200 OK\r\n\r\nall", None, 1_000).unwrap();
        assert!(!open.is_done());
        assert_eq!((open.end(), open.body_bytes), (Ok(()), 3));
        assert_eq!(Answer::new(false, false).end(), Err(Fault::Closed));
    }

    #[test]
    fn what_is_not_well_formed_is_a_fault() {
        assert_eq!(read(b"SSH-2.0-OpenSSH\r\n\r\n", None, 1_000).unwrap_err(), Fault::Framing);
        let two = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(read(two, None, 1_000).unwrap_err(), Fault::Framing);
    }

    #[test]
    fn contents_are_checked_against_a_given_or_an_announced_digest() {
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(b"hello");
        let right = Verify::Given(hasher.finish());
        for text in [PLAIN, CHUNKED] {
            assert!(read(text, Some(&right), 4).unwrap().0.is_done());
        }
        let wrong = Verify::Given(Hasher::new(Algorithm::Sha256).finish());
        assert_eq!(read(PLAIN, Some(&wrong), 4).unwrap_err(), Fault::Checksum);
        assert_eq!(read(PLAIN, Some(&Verify::Announced), 4).unwrap_err(), Fault::NoChecksum);
        // Adler-32 of "hello".
        let announced = b"HTTP/1.1 200 OK\r\nDigest: adler32=062c0215\r\nContent-Length: 5\r\n\r\nhello";
        assert!(read(announced, Some(&Verify::Announced), 9).unwrap().0.is_done());
        let announced = b"HTTP/1.1 200 OK\r\nDigest: adler32=062c0216\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(read(announced, Some(&Verify::Announced), 9).unwrap_err(), Fault::Checksum);
    }
}
