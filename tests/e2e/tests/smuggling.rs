//! Runs the table of smuggling cases against the real program. Checks the client's response and every byte
//! that the server receives, however the request is split.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(unreachable_pub)]
#[path = "../../../logic/http/tests/messages/smuggling/mod.rs"]
mod table;

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use table::{Case, Verdict};
use weir_e2e::Weir;
use weir_testkit::{RawClient, RawServer, ResponseError};

/// Number of cases that run in parallel, each with its own listener, pool and server.
const LANES: usize = 8;
/// Pause between two pieces, so that Weir reads them separately.
const PAUSE: Duration = Duration::from_micros(300);

struct Lane {
    server: RawServer,
    /// Number of complete requests that the server has received.
    whole: Arc<AtomicUsize>,
}

/// Result of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outcome {
    verdict: Vec<Verdict>,
    /// Data that the server received on each connection, without refused bodies. The part of a refused body
    /// that was forwarded depends on how it was split, so it is checked separately.
    received: Vec<String>,
}

#[test]
fn every_case_gets_its_verdict_and_the_server_only_what_is_sound() {
    let cases = table::requests();
    let outcomes = in_lanes(&cases, |case, lane, addr| {
        let outcome = lane.run(addr, case, &[&case.input]);
        assert_eq!(outcome.verdict, case.verdict, "{}", case.rule);
        outcome
    });
    let mut shown = String::new();
    for (case, outcome) in cases.iter().zip(&outcomes) {
        if outcome.received.is_empty() {
            continue;
        }
        writeln!(shown, "= {}\n> {}", case.rule, case.input.escape_ascii()).unwrap();
        for received in &outcome.received {
            writeln!(shown, "server: {received}").unwrap();
        }
    }
    insta::assert_snapshot!("what_servers_receive", shown);
}

#[test]
fn a_case_cut_anywhere_comes_to_the_same() {
    let cases = table::requests();
    in_lanes(&cases, |case, lane, addr| {
        let whole = lane.run(addr, case, &[&case.input]);
        for cut in 1..case.input.len() {
            let (first, rest) = case.input.split_at(cut);
            let outcome = lane.run(addr, case, &[first, rest]);
            assert_eq!(outcome, whole, "{} cut at {cut}", case.rule);
        }
        let bytes: Vec<&[u8]> = case.input.chunks(1).collect();
        assert_eq!(lane.run(addr, case, &bytes), whole, "{} byte by byte", case.rule);
    });
}

#[test]
fn a_response_that_two_readers_could_understand_differently_is_never_passed_on() {
    for case in table::responses() {
        if case.verdict == [Verdict::Forward] || case.verdict == [Verdict::Incomplete] {
            continue;
        }
        let input = case.input.clone();
        let server = RawServer::start(move |peer| {
            peer.request()?;
            peer.send(&input)?;
            peer.hold();
            Ok(())
        });
        let weir = Weir::start(&weir_e2e::web(&[server.addr()]));
        let mut client = weir.client();
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        match client.try_response() {
            Ok(response) => assert_eq!(response.status, 502, "{}", case.rule),
            Err(ResponseError::InBody(..)) if case.verdict == [Verdict::RefuseInBody(502)] => {}
            Err(other) => panic!("{}: {other}", case.rule),
        }
        server.wait_for_end(0);
    }
}

fn in_lanes<T: Send>(cases: &[Case], run: impl Fn(&Case, &Lane, SocketAddr) -> T + Sync) -> Vec<T> {
    let lanes: Vec<Lane> = (0..LANES).map(|_| Lane::new()).collect();
    let weir =
        Weir::start(&lanes.iter().enumerate().map(|(number, lane)| lane.config(number)).collect::<String>());
    let mut results: Vec<(usize, T)> = thread::scope(|scope| {
        let threads: Vec<_> = lanes
            .iter()
            .enumerate()
            .map(|(number, lane)| {
                let (run, addr) = (&run, weir.addr(&format!("lane-{number}")));
                scope.spawn(move || {
                    let mine = cases.iter().enumerate().skip(number).step_by(LANES);
                    mine.map(|(index, case)| (index, run(case, lane, addr))).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

impl Lane {
    fn new() -> Self {
        let whole = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&whole);
        let server = RawServer::start(move |peer| {
            while peer.request().is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
                peer.respond("ok")?;
            }
            Ok(())
        });
        Self { server, whole }
    }

    /// Disables connection reuse, so that each request has its own connection and its data can be told apart.
    fn config(&self, number: usize) -> String {
        format!(
            "[listener.lane-{number}]\nbind = \"127.0.0.1:0\"\npool = \"lane-{number}\"\n\n\
             [pool.lane-{number}]\nservers = \"{}\"\nreuse = false\neject = false\n\n",
            self.server.addr()
        )
    }

    fn run(&self, addr: SocketAddr, case: &Case, pieces: &[&[u8]]) -> Outcome {
        let (before, mut whole_before) = (self.server.connections(), self.whole.load(Ordering::SeqCst));
        let mut client = RawClient::connect(addr);
        for (index, piece) in pieces.iter().enumerate() {
            if index > 0 {
                thread::sleep(PAUSE);
            }
            if client.try_send(piece).is_err() {
                break;
            }
        }
        let mut verdict = Vec::new();
        for expected in &case.verdict {
            verdict.push(self.read_verdict(&mut client, *expected, case));
        }
        if case.verdict == [Verdict::Incomplete] && case.input.windows(4).any(|it| it == b"\r\n\r\n") {
            // Weir sends a complete head to the server as soon as it has read it, without waiting for the
            // body.
            self.server.wait_for_connections(before + 1);
        }
        drop(client);
        let is_open = |verdict: &Verdict| matches!(verdict, Verdict::RefuseInBody(_) | Verdict::Incomplete);
        let may_break_off = case.verdict.iter().any(is_open);
        let connections = if may_break_off {
            // Weir may have opened a connection that carries no complete request, which this function has not
            // waited for.
            whole_before += 1;
            before..self.ask_for_connections()
        } else {
            before..self.server.connections()
        };
        connections.clone().for_each(|number| self.server.wait_for_end(number));
        let whole = self.whole.load(Ordering::SeqCst) - whole_before;
        let sound = case.verdict.iter().filter(|verdict| **verdict == Verdict::Forward).count();
        assert_eq!(whole, sound, "{}: whole requests at the server", case.rule);
        if !may_break_off {
            // The server gets no byte of a refused head.
            assert_eq!(connections.len(), sound, "{}: connections to the server", case.rule);
        }
        for number in connections.clone().skip(sound) {
            let received = self.server.received(number);
            assert!(
                may_become_sound(&received, &case.input),
                "{}: the server received {}",
                case.rule,
                received.escape_ascii()
            );
        }
        let received =
            connections.take(sound).map(|number| self.server.received(number).escape_ascii().to_string());
        Outcome { verdict, received: received.collect() }
    }

    /// Returns the number of connections opened to the server, without the one that this function opens. The
    /// server accepts connections in order, so it has seen all others when it responds on this one.
    fn ask_for_connections(&self) -> usize {
        let answer = RawClient::connect(self.server.addr()).exchange(weir_e2e::get("/"));
        assert_eq!(answer.status, 200);
        self.server.connections() - 1
    }

    fn read_verdict(&self, client: &mut RawClient, expected: Verdict, case: &Case) -> Verdict {
        if expected == Verdict::Incomplete {
            assert!(client.is_quiet(Duration::from_millis(20)), "{}", case.rule);
            return Verdict::Incomplete;
        }
        let response = client.try_response().unwrap_or_else(|error| panic!("{}: {error}", case.rule));
        if response.status == 200 {
            return Verdict::Forward;
        }
        assert!(response.says_close(), "{}: {:?}", case.rule, response.headers);
        client.half_close();
        client.read_to_end();
        match expected {
            Verdict::RefuseInBody(_) => Verdict::RefuseInBody(response.status),
            _ => Verdict::Refuse(response.status),
        }
    }
}

/// Returns true if a truncated message is unambiguous so far. Its body must be as sent and, if chunked, have
/// plain hexadecimal sizes and CRLF behind sizes and data.
fn may_become_sound(message: &[u8], input: &[u8]) -> bool {
    let Some(end) = message.windows(4).position(|it| it == b"\r\n\r\n") else { return true };
    let (head, body) = message.split_at(end + 4);
    let is_chunked = String::from_utf8_lossy(head).to_lowercase().contains("transfer-encoding: chunked");
    let is_as_sent = body.is_empty() || input.windows(body.len()).any(|sent| sent == body);
    is_as_sent && (!is_chunked || chunks_so_far(body))
}

fn chunks_so_far(mut rest: &[u8]) -> bool {
    loop {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let (size, after) = rest.split_at(digits);
        if !b"\r\n".starts_with(&after[..after.len().min(2)]) || (size.is_empty() && !after.is_empty()) {
            return false;
        }
        if after.len() < 2 {
            return true;
        }
        let size = usize::from_str_radix(std::str::from_utf8(size).unwrap(), 16).unwrap();
        rest = &after[2..];
        if size == 0 {
            // Trailer lines, without any character that could end one early.
            let lines = String::from_utf8_lossy(rest).replace("\r\n", "");
            return !lines.contains(['\n', '\0']) && !lines.trim_end_matches('\r').contains('\r');
        }
        if rest.len() <= size {
            return true;
        }
        rest = &rest[size..];
        if !b"\r\n".starts_with(&rest[..rest.len().min(2)]) {
            return false;
        }
        if rest.len() < 2 {
            return true;
        }
        rest = &rest[2..];
    }
}

#[test]
fn what_counts_as_sound_so_far() {
    for sound in ["", "5", "5\r", "5\r\n", "5\r\nhel", "5\r\nhello\r", "5\r\nhello\r\n0\r\n", "0\r\nA: b\r\n"]
    {
        assert!(chunks_so_far(sound.as_bytes()), "{sound:?}");
    }
    for bad in ["x", "5;", " 5", "5\n", "5\r\nhelloX", "5\r\nhello\r\nz", "\r\n", "0\r\nA: b\n", "0x5\r\n"] {
        assert!(!chunks_so_far(bad.as_bytes()), "{bad:?}");
    }
}
