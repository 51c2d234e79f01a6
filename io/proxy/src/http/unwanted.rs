//! Reads the already received part of an unwanted request body, without waiting, so that the connection can
//! carry the next request after a response of Weir's own.

use std::task::{Context, Poll, Waker};

use weir_http::BodyScanner;

use super::connection::Connection;
use super::exchange::Exchange;

/// Maximum number of bytes to read; a connection with a longer rest is closed.
const BYTES_MAX: u64 = 64 * 1024;

const READ_BYTES: usize = 16 * 1024;

/// Reads the body of a failed exchange. Bytes after it go to the connection.
pub(super) fn read_for_exchange(connection: &mut Connection, exchange: &mut Exchange) {
    let mut cx = Context::from_waker(Waker::noop());
    let most = exchange.upload.bytes_read.saturating_add(BYTES_MAX);
    let mut unwanted = Vec::new();
    while !exchange.upload.is_read() && exchange.upload.bytes_read < most {
        unwanted.clear();
        let (stream, worker) = (&mut connection.stream, &connection.worker);
        let Poll::Ready(Ok(())) =
            exchange.upload.poll_take(&mut cx, stream, worker, READ_BYTES, &mut unwanted)
        else {
            break;
        };
    }
    let pipelined = exchange.take_pipelined();
    connection.received.extend_from_slice(&pipelined);
}

/// Reads the body of a request that goes to no server. Bytes after it go to the connection. Returns how many
/// belong to the body.
pub(super) fn read_for_scanner(connection: &mut Connection, scanner: &mut BodyScanner) -> u64 {
    let mut cx = Context::from_waker(Waker::noop());
    let mut window = vec![0; READ_BYTES];
    let mut taken = 0;
    while !scanner.is_done() && taken < BYTES_MAX {
        let Poll::Ready(Ok(read @ 1..)) = connection.stream.poll_read(&mut cx, &mut window) else { break };
        let Ok(used) = scanner.feed(&window[..read]) else { break };
        taken += used as u64;
        connection.received.extend_from_slice(&window[used..read]);
    }
    taken
}
