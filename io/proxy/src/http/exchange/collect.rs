//! Reads a small body before a server is chosen: a client that sends it slowly keeps no server busy meanwhile, and what was read can be
//! sent to another server as well.

use std::task::{Context, Poll};

use super::{ClientSide, Exchange, State};
use crate::http::outcome::{Cut, End};

/// One read, at most.
const READ_BYTES: usize = 16 * 1024;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

impl Exchange {
    /// Has all of the body read before a server is chosen. `expects_continue`: the client may wait to be asked for it.
    pub(crate) fn collect_first(&mut self, expects_continue: bool) {
        // What is refused needs no body.
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

    /// Returns whether the body is awaited before a server is chosen.
    pub(crate) fn is_collecting(&self) -> bool {
        matches!(self.state, State::Collecting)
    }

    /// Ready with nothing when all of the body is behind the head.
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
        // What TLS has encrypted goes out while the body is awaited; that it cannot is seen by the next read.
        let _ = client.stream.poll_flush(cx);
        while !self.upload.is_read() {
            match self.upload.poll_take(cx, client.stream, client.worker, READ_BYTES, &mut self.head) {
                Poll::Pending => return self.wait(cx, client),
                Poll::Ready(Ok(())) => self.upload_in_head = self.upload.bytes_read,
                Poll::Ready(Err(error)) => return Poll::Ready(Some(self.upload_failed(error))),
            }
        }
        // Neither the pool nor a server has taken this time.
        self.timing.ask_again(client.worker.now());
        Poll::Ready(None)
    }
}
