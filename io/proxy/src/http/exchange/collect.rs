//! Reads a small body before a server is chosen. A client that sends it slowly occupies no server meanwhile,
//! and the body can be sent to another server too.

use std::task::{Context, Poll};

use super::{ClientSide, Exchange, State};
use crate::http::outcome::{Cut, End};

/// Maximum size of one read.
const READ_BYTES: usize = 16 * 1024;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

impl Exchange {
    /// Requires that the whole body is read before a server is chosen. `expects_continue`: the client may
    /// wait for a 100 before it sends the body.
    pub(crate) fn collect_first(&mut self, expects_continue: bool) {
        // A refused request needs no body.
        if self.upload.is_read() || self.broken.is_some() || self.pass.is_err() || self.upload.is_too_large()
        {
            return;
        }
        if expects_continue && self.upload.bytes_read == 0 {
            self.unsent.extend_from_slice(CONTINUE);
        }
        self.state = State::Collecting;
        self.arm_when_waiting();
    }

    /// Returns true if the exchange waits for the body before it chooses a server.
    pub(crate) fn is_collecting(&self) -> bool {
        matches!(self.state, State::Collecting)
    }

    /// Becomes ready with `None` when the whole body is stored behind the head.
    #[cold]
    pub(super) fn poll_collect(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientSide<'_>,
    ) -> Poll<Option<End>> {
        while !self.unsent.is_empty() {
            match client.stream.poll_write(cx, &self.unsent) {
                Poll::Pending => return self.wait(cx, client),
                Poll::Ready(Ok(sent)) if sent > 0 => drop(self.unsent.drain(..sent)),
                Poll::Ready(_) => return Poll::Ready(Some(End::Cut(Cut::ClientGone))),
            }
        }
        // Sends the bytes that TLS has encrypted before waiting for the body. The next read detects an error.
        let _ = client.stream.poll_flush(cx);
        while !self.upload.is_read() {
            match self.upload.poll_take(cx, client.stream, client.worker, READ_BYTES, &mut self.head) {
                Poll::Pending => return self.wait(cx, client),
                Poll::Ready(Ok(())) => self.upload_in_head = self.upload.bytes_read,
                Poll::Ready(Err(error)) => return Poll::Ready(Some(self.upload_failed(error))),
            }
        }
        // The time so far was neither the pool's nor a server's.
        self.timing.ask_again(client.worker.now());
        Poll::Ready(None)
    }
}
