//! A chaos client that sends random requests and checks the responses.

use std::net::SocketAddr;

use weir_testkit::{Ending, RawClient, Response, ResponseError};

use crate::random::Random;
use crate::script::{Fault, Framing, Script, chunked};

/// A client that reuses its connection as long as possible.
pub(crate) struct Client {
    addr: SocketAddr,
    /// True if servers can reset their connections.
    resets: bool,
    connection: Option<RawClient>,
}

/// A request with its expected response.
struct Asked {
    script: Script,
    wire: Vec<u8>,
    has_body: bool,
    is_safe: bool,
    is_old: bool,
}

impl Client {
    pub(crate) fn new(addr: SocketAddr, resets: bool) -> Self {
        Self { addr, resets, connection: None }
    }

    /// Sends one to three requests at once, and checks the responses.
    pub(crate) fn exchange(&mut self, id: u64, random: &mut Random) {
        let count = if random.once_in(4) { 1 + random.below(3) } else { 1 };
        let all: Vec<Asked> =
            (0..count).map(|n| Asked::new(id * 10 + n, random, count == 1, self.resets)).collect();
        let fresh = self.connection.is_none();
        let mut connection = self.connection.take().unwrap_or_else(|| RawClient::connect(self.addr));
        let wire = all.iter().map(|asked| asked.wire.as_slice()).collect::<Vec<_>>().concat();
        if random.once_in(20) {
            // Disconnects in the middle of the request.
            let _ = connection.try_send(&wire[..random.below(wire.len() as u64) as usize]);
            if random.once_in(2) {
                connection.reset();
            }
            return;
        }
        let sent = send_in_pieces(&mut connection, &wire, random);
        for (number, asked) in all.iter().enumerate() {
            // The response to an earlier request may have ended the connection, and with it the later
            // requests.
            let cut_later =
                all[number + 1..].iter().any(|later| matches!(later.script.fault, Fault::Cut { .. }));
            match asked.check(&mut connection, fresh || number > 0 || sent.is_err(), cut_later) {
                Goes::On => {}
                Goes::Away => return,
            }
            if random.once_in(30) {
                return;
            }
        }
        if sent.is_ok() {
            self.connection = Some(connection);
        }
    }
}

enum Goes {
    On,
    Away,
}

impl Asked {
    fn new(id: u64, random: &mut Random, may_be_old: bool, resets: bool) -> Self {
        let seed = random.next();
        let script = Script::new(id, seed);
        let script = if resets { script } else { script.without_reset() };
        let is_old = may_be_old && random.once_in(8);
        let version = if is_old { "1.0" } else { "1.1" };
        let has_body = random.once_in(2);
        let is_safe = !has_body && random.once_in(2);
        let method = if is_safe { "GET" } else { "POST" };
        let mut wire = format!("{method} /{id}/{seed} HTTP/{version}\r\nHost: chaos\r\n").into_bytes();
        if has_body {
            let body = Random::bytes(!id, random.size());
            if random.once_in(2) && !is_old {
                wire.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                wire.extend_from_slice(&chunked(&body, seed));
            } else {
                wire.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
                wire.extend_from_slice(&body);
            }
        } else {
            wire.extend_from_slice(b"\r\n");
        }
        Self { script, wire, has_body, is_safe, is_old }
    }

    /// Reads the response and compares it with the results that the script permits. If several requests were
    /// sent at once, a reset for a later one discards unread data of this one.
    fn check(&self, connection: &mut RawClient, may_have_ended: bool, cut_later: bool) -> Goes {
        let script = &self.script;
        let id = script.id;
        let response = loop {
            match connection.try_response() {
                Ok(response) if response.status == 103 => {
                    assert!(!self.is_old && script.interim > 0, "{id}: a 103 that nobody sent");
                }
                other => break other,
            }
        };
        match response {
            Ok(response) if response.status == 200 => {
                self.check_whole(&response);
                if response.says_close() || self.is_old { Goes::Away } else { Goes::On }
            }
            Ok(response) => {
                let faulty = matches!(script.fault, Fault::Silent | Fault::Garbage | Fault::Cut { .. });
                assert!(response.status == 502 && faulty, "{id}: {} for {script:?}", response.status);
                if response.says_close() || self.is_old { Goes::Away } else { Goes::On }
            }
            Err(ResponseError::InBody(ending, response)) => {
                assert_eq!(
                    ending,
                    Ending::Reset,
                    "cut with a FIN after {} bytes: {script:?}",
                    response.body.len()
                );
                assert!(
                    matches!(script.fault, Fault::Cut { .. }) || cut_later,
                    "cut after {} bytes, body sent {}: {script:?}",
                    response.body.len(),
                    self.has_body
                );
                assert!(script.body.starts_with(&response.body), "{id}: another's bytes before the cut");
                Goes::Away
            }
            Err(ResponseError::Nothing(_) | ResponseError::InHead(..)) => {
                let cut = matches!(script.fault, Fault::Cut { .. }) || cut_later;
                assert!(may_have_ended || cut || self.has_body || !self.is_safe, "{id}: no answer");
                Goes::Away
            }
            Err(error) => panic!("{id}: {error}"),
        }
    }

    fn check_whole(&self, response: &Response) {
        let script = &self.script;
        let id = script.id;
        assert_eq!(response.header("x-id"), Some(id.to_string().as_str()), "another's answer: {script:?}");
        let (got, all) = (&response.body, &script.body);
        let as_it_is = match (script.framing, script.fault) {
            // All data before a FIN is the body; a reset is no FIN.
            (Framing::Close, Fault::Surplus) => got.starts_with(all),
            (Framing::Close, Fault::Cut { reset: false }) => all.starts_with(got),
            (_, Fault::Cut { .. }) => false,
            _ => got == all,
        };
        assert!(as_it_is, "{id}: {} bytes of {} look whole: {script:?}", got.len(), all.len());
    }
}

fn send_in_pieces(connection: &mut RawClient, wire: &[u8], random: &mut Random) -> std::io::Result<()> {
    let mut rest = wire;
    if random.once_in(2) {
        return connection.try_send(wire);
    }
    while !rest.is_empty() {
        let count = (1 + random.size()).min(rest.len());
        connection.try_send(&rest[..count])?;
        rest = &rest[count..];
    }
    Ok(())
}
