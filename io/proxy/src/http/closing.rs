//! Ends a client's connection in a way that lets sent bytes arrive.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use weir_net::Deadline;

use super::connection::Connection;
use crate::worker::Drain;

/// Time for which a closing connection is still read.
const LINGER: Duration = Duration::from_secs(2);
/// Number of bytes that are discarded meanwhile; after more, the connection is reset.
const LINGER_BYTES_MAX: usize = 1 << 20;

/// Ends the connection with a plain close if no more bytes can be in transit to this side.
pub(super) async fn close(mut connection: Box<Connection>) {
    if !connection.stream.is_plain() {
        connection.deadline.arm(connection.worker.look_at_clock(), LINGER);
        poll_fn(|cx| match connection.stream.poll_end(cx) {
            Poll::Pending if connection.deadline.poll_expired(cx) || connection.gives_way() => {
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
            Poll::Ready(_) => Poll::Ready(()),
        })
        .await;
    }
    if !connection.received.is_empty() {
        linger(connection).await;
    }
}

/// Interval of the checks of a client before its connection is reset.
const RESET_LOOK: Duration = Duration::from_millis(20);

/// Resets the connection, so that the client does not take the last response for complete. A reset discards
/// the bytes that the kernel has not delivered yet. These may belong to complete responses to earlier
/// requests, so the reset waits some time for them.
pub(super) async fn reset_when_delivered(connection: Box<Connection>) {
    let worker = &connection.worker;
    let until = worker.look_at_clock() + LINGER;
    while connection.requests > 1
        && connection.stream.socket().has_undelivered()
        && worker.look_at_clock() < until
        && worker.drain.get() < Drain::Cut
    {
        connection.deadline.arm(worker.now(), RESET_LOOK);
        poll_fn(|cx| if connection.deadline.poll_expired(cx) { Poll::Ready(()) } else { Poll::Pending })
            .await;
    }
    connection.stream.socket().reset_on_close();
}

/// Ends this direction and reads on for a limited time. A close with unread bytes would cause a reset, which
/// can overtake the response and remove it from the client's buffer (RFC 9112 section 9.6). A connection
/// whose room is needed closes at once.
pub(super) async fn linger(mut connection: Box<Connection>) {
    connection.deadline.arm(connection.worker.look_at_clock(), LINGER);
    let ended = poll_fn(|cx| {
        let ended = connection.stream.poll_end(cx);
        if connection.gives_way() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        late_or(cx, &connection.deadline, ended)
    })
    .await;
    if ended.is_err() {
        return;
    }
    let mut thrown_away = 0;
    while thrown_away < LINGER_BYTES_MAX {
        let read = poll_fn(|cx| {
            let mut scratch = connection.worker.scratch.borrow_mut();
            let read = connection.stream.poll_read(cx, scratch.body());
            late_or(cx, &connection.deadline, read)
        })
        .await;
        match read {
            Ok(read) if read > 0 => thrown_away += read,
            _ => return,
        }
    }
}

/// Returns `step`, or a timeout error once the deadline has passed.
fn late_or<T>(cx: &Context<'_>, deadline: &Deadline, step: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
    match step {
        Poll::Pending if deadline.poll_expired(cx) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
        step => step,
    }
}
