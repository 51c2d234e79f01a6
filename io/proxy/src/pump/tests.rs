//! Tests of batching and of turns in a pump.

use std::future::poll_fn;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::runtime::{Builder, LocalOptions};
use weir_http::Framing;
use weir_testkit::{PATIENCE, wait_until};

use super::batch::{BULK_BATCH, BULK_MIN, FAST_READ, REST};
use super::*;
use crate::testing::shared;

const LARGE: u64 = 10 * BULK_MIN;

/// Creates the source of a pump, with one byte in it.
fn source() -> (TcpStream, Socket) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (accepted, _) = listener.accept().unwrap();
    accepted.set_nonblocking(true).unwrap();
    let source = Socket::from_tcp(OwnedFd::from(accepted));
    peer.write_all(b"x").unwrap();
    wait_until("the byte", PATIENCE, || source.has_input_now());
    (peer, source)
}

/// Returns true if the kernel reports the socket as readable.
fn is_told(socket: &Socket) -> bool {
    let mut polled = [PollFd::new(socket, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec::default())).unwrap() > 0
}

/// Creates a pump for a large body that comes fast.
fn large() -> Pump {
    Pump { last_read: FAST_READ, ..Pump::new(BodyScanner::of_response(Framing::Length(LARGE))) }
}

#[test]
fn a_byte_of_a_large_body_waits_for_a_batch_only_in_a_pump_that_may_batch() {
    let (_peer, source) = source();
    let mut as_it_comes = large();
    as_it_comes.choose_batch(&source);
    assert!(is_told(&source) && !as_it_comes.is_in_bulk());
    let mut in_batches = large();
    in_batches.batch();
    in_batches.choose_batch(&source);
    assert!(!is_told(&source) && in_batches.is_in_bulk());
}

#[test]
fn a_byte_of_a_large_body_that_comes_in_small_pieces_waits_for_no_batch() {
    let (_peer, source) = source();
    let mut slow = Pump { last_read: FAST_READ - 1, ..large() };
    slow.batch();
    slow.choose_batch(&source);
    assert!(is_told(&source) && !slow.is_in_bulk());
}

#[test]
fn the_end_of_a_large_body_does_not_wait_for_a_batch() {
    let (_peer, source) = source();
    let mut pump = large();
    pump.batch();
    pump.choose_batch(&source);
    pump.scanner.skip(LARGE - BULK_MIN + 1);
    pump.choose_batch(&source);
    assert!(is_told(&source) && !pump.is_in_bulk());
}

/// Returns true if the pump waits for all of `left`, after a read of `last_read` bytes with the present
/// `batch`.
fn waits_for_rest(left: u64, last_read: u64, batch: u64) -> bool {
    next_batch(Some(left), last_read, batch) == left
}

#[test]
fn the_rest_of_a_body_from_a_source_that_is_faster_than_we_are_comes_as_one_batch() {
    assert!(waits_for_rest(*REST.end(), FAST_READ, NO_BATCH));
    assert!(waits_for_rest(*REST.start(), 2 * BULK_BATCH, BULK_BATCH));
}

#[test]
fn a_rest_is_not_waited_for_because_the_batch_before_it_was() {
    assert!(!waits_for_rest(*REST.end(), 2 * BULK_BATCH - 1, BULK_BATCH));
}

#[test]
fn a_rest_that_is_too_large_or_hardly_anything_is_not_waited_for() {
    assert!(!waits_for_rest(REST.end() + 1, FAST_READ, NO_BATCH));
    assert!(!waits_for_rest(REST.start() - 1, FAST_READ, NO_BATCH));
}

#[test]
fn the_rest_of_a_body_that_comes_in_smaller_pieces_is_passed_on_as_it_comes() {
    assert!(!waits_for_rest(*REST.start(), FAST_READ - 1, NO_BATCH));
}

/// Creates a stream and its other end.
fn stream() -> (UnixStream, Stream) {
    let (peer, stream) = UnixStream::pair().unwrap();
    stream.set_nonblocking(true).unwrap();
    (peer, Stream::Plain(Socket::from_unix(OwnedFd::from(stream))))
}

#[test]
fn a_body_that_is_copied_leaves_the_turn_to_others_though_all_of_it_is_there() {
    let config = "[weir]\ncontrol = false\nstate = false\n\n\
                  [listener.web]\nbind = \"127.0.0.1:8080\"\npool = \"web\"\n\n\
                  [pool.web]\nservers = [\"127.0.0.1:8082\"]\n";
    let body = vec![b'x'; 2 * COPY_BYTES];
    let (mut server, mut source) = stream();
    let (_client, mut sink) = stream();
    server.write_all(&body).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    let read_by_turns = runtime.block_on(async {
        let worker = Worker::new(0, shared(config), 1);
        let framing = Framing::Length(body.len() as u64);
        let mut pump = Pump { splice_denied: true, ..Pump::new(BodyScanner::of_response(framing)) };
        let mut read_by_turns = Vec::new();
        poll_fn(|cx| {
            let polled = pump.poll(cx, &mut source, &mut sink, &worker);
            read_by_turns.push(pump.bytes_read);
            polled
        })
        .await
        .unwrap();
        read_by_turns
    });
    // The runtime may poll before the kernel has reported either socket.
    let turns: Vec<u64> = read_by_turns.into_iter().filter(|bytes| *bytes > 0).collect();
    assert!(turns.starts_with(&[COPY_TURN_BYTES]) && turns.ends_with(&[body.len() as u64]), "{turns:?}");
}
