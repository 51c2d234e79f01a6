//! Ends a client's connection so that what was sent on it arrives.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use weir_net::Deadline;

use super::connection::Connection;
use crate::worker::Drain;

/// How long a closing connection is listened to.
const LINGER: Duration = Duration::from_secs(2);
/// How much of what still comes is thrown away before it is reset after all.
const LINGER_BYTES_MAX: usize = 1 << 20;

/// Ends the connection. If nothing more can be on its way here, that is a plain close.
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

/// How often a client is looked at that is to be reset.
const RESET_LOOK: Duration = Duration::from_millis(20);

/// Resets the connection, for the client must not take the last response for whole. But a reset throws away what the
/// kernel has not delivered yet, and that may be of complete responses to earlier requests: those get some time.
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

/// Ends the own direction and reads on for a while: a close with unread bytes would be a reset, which can overtake the
/// answer and take it away from the client (RFC 9112 section 9.6). There is no while for one that gives way: its room is taken.
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

/// `step`, or an error once the deadline has passed.
fn late_or<T>(cx: &Context<'_>, deadline: &Deadline, step: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
    match step {
        Poll::Pending if deadline.poll_expired(cx) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
        step => step,
    }
}
