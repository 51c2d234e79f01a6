//! Keeps the small body of a request, so that the request can be sent again.

use std::task::{Context, Poll};

use super::{ClientSide, Exchange};
use crate::pump::PumpError;

/// Maximum size of a kept body, framing included. A longer one can be sent again only if no more was read of
/// it than came with the head. A connection with such a body needs this much more memory.
pub(super) const KEPT_BYTES_MAX: u64 = 16 * 1024;

impl Exchange {
    /// Returns true if the next part of the body is stored behind the head instead of going through the pump.
    #[inline]
    pub(super) fn keeps_upload(&self) -> bool {
        !self.upload.is_read() && self.request.method.is_safe() && self.can_keep()
    }

    #[cold]
    fn can_keep(&self) -> bool {
        // There is no other try once the response has arrived, or once a part of the body is no longer
        // stored.
        let is_of_use = self.download.is_none()
            && !self.passed_on
            && self.upload.bytes_read == self.upload_in_head
            && self.pool.shared.plan.retry.attempts > 0;
        let known_bytes = self.upload.remaining_exact().unwrap_or(1);
        is_of_use && self.upload.bytes_read.saturating_add(known_bytes) <= KEPT_BYTES_MAX
    }

    /// Reads more of the body and stores it behind the head.
    #[cold]
    pub(super) fn poll_keep(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientSide<'_>,
    ) -> Poll<Result<(), PumpError>> {
        let room = KEPT_BYTES_MAX.saturating_sub(self.upload.bytes_read) as usize;
        match self.upload.poll_take(cx, client.stream, client.worker, room, &mut self.head) {
            Poll::Ready(taken) => {
                self.upload_in_head = self.upload.bytes_read;
                Poll::Ready(taken)
            }
            Poll::Pending => match &mut self.connection {
                // Bytes that TLS has encrypted must be sent while this side waits for more.
                Some(connection) => match connection.stream.poll_flush(cx) {
                    Poll::Ready(Err(error)) => Poll::Ready(Err(PumpError::Sink(error))),
                    _ => Poll::Pending,
                },
                None => Poll::Pending,
            },
        }
    }
}
