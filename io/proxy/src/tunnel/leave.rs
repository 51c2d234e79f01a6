//! Ends a WebSocket tunnel when the process stops: sends a Close frame to each side (RFC 6455 section 5.5.1)
//! where the frame boundaries permit it.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use weir_http::websocket::{FrameScanner, going_away, going_away_masked};
use weir_net::Stream;

use super::Tunnel;
use crate::pump::Pump;
use crate::worker::Worker;

/// Time for both sides to answer. A process must end within two seconds of its deadline.
const ANSWER_TIME: Duration = Duration::from_millis(500);
const READ_BYTES: usize = 16 * 1024;
/// Number of bytes after which a side that has not answered is no longer read.
const UNHEARD_BYTES_MAX: u64 = 1 << 20;

/// One side of a closing tunnel.
struct Side {
    /// Unsent part of the Close frame; empty if the tunnel is within a frame.
    close: Vec<u8>,
    is_told: bool,
    unheard_bytes: u64,
    has_ended: bool,
}

impl Tunnel {
    /// Sends a Close frame to both sides, waits briefly for their Close frames, and ends both directions.
    pub(super) async fn take_leave(&mut self, client: &mut Stream, server: &mut Stream, worker: &Worker) {
        let [a, b, c, d, ..] = worker.random().to_be_bytes();
        let mut client_side = Side::new(going_away(), !self.download_ended && self.download.may_close());
        let mut server_side =
            Side::new(going_away_masked([a, b, c, d]), !self.upload_ended && self.upload.may_close());
        let (upload, download) = (&mut self.upload, &mut self.download);
        let both = poll_fn(|cx| {
            let to_client = client_side.poll(cx, client, download, upload, worker);
            let to_server = server_side.poll(cx, server, upload, download, worker);
            if to_client.is_ready() && to_server.is_ready() { Poll::Ready(()) } else { Poll::Pending }
        });
        // The worker's deadlines have all expired, so this one uses the runtime's timer.
        let _ = tokio::time::timeout(ANSWER_TIME, both).await;
    }
}

impl Side {
    fn new(close: Vec<u8>, may_be_told: bool) -> Self {
        let close = if may_be_told { close } else { Vec::new() };
        Self { is_told: !close.is_empty(), close, unheard_bytes: 0, has_ended: false }
    }

    /// Becomes ready when there is nothing left to send or to read. `told`: the direction to this side;
    /// `heard`: the direction from it.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut Stream,
        told: &mut Pump,
        heard: &mut Pump,
        worker: &Worker,
    ) -> Poll<()> {
        if !self.has_ended {
            // Errors are ignored: the connection ends in any case.
            let _ = ready!(self.poll_steps(cx, stream, told, heard, worker));
            self.has_ended = true;
        }
        Poll::Ready(())
    }

    fn poll_steps(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut Stream,
        told: &mut Pump,
        heard: &mut Pump,
        worker: &Worker,
    ) -> Poll<io::Result<()>> {
        while !self.close.is_empty() {
            let written = ready!(stream.poll_write(cx, &self.close))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            told.sent(written);
            self.close.drain(..written);
        }
        ready!(stream.poll_flush(cx))?;
        // Closing a socket with unread bytes sends a reset, which can overtake the frame.
        let mut nowhere = Vec::new();
        while self.is_told && !heard.is_read() && !heard.frames().is_some_and(FrameScanner::has_closed) {
            nowhere.clear();
            if ready!(heard.poll_take(cx, stream, worker, READ_BYTES, &mut nowhere)).is_err() {
                break;
            }
            self.unheard_bytes += nowhere.len() as u64;
            if self.unheard_bytes > UNHEARD_BYTES_MAX {
                break;
            }
        }
        stream.poll_end(cx)
    }
}

#[cfg(test)]
mod tests;
