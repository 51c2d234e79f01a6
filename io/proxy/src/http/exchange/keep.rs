//! Keeps the small body of a request that may be sent twice, so that it can be.

use std::task::{Context, Poll};

use super::{ClientSide, Exchange};
use crate::pump::PumpError;

/// A body is kept if it is no longer than this, framing included. A longer one can be sent again only while nothing was
/// read of it but what came with the head. So much memory one connection may need more than its head, and only for such a body.
pub(super) const KEPT_BYTES_MAX: u64 = 16 * 1024;

impl Exchange {
    /// Whether what comes next of the body goes behind the head, to stay there, instead of through the pump.
    #[inline]
    pub(super) fn keeps_upload(&self) -> bool {
        !self.upload.is_read() && self.request.method.is_safe() && self.can_keep()
    }

    #[cold]
    fn can_keep(&self) -> bool {
        // Once the response has come, or something of the body is no longer here, there is no other try.
        let is_of_use = self.download.is_none()
            && !self.passed_on
            && self.upload.bytes_read == self.upload_in_head
            && self.pool.shared.plan.retry.attempts > 0;
        let known_bytes = self.upload.remaining_exact().unwrap_or(1);
        is_of_use && self.upload.bytes_read.saturating_add(known_bytes) <= KEPT_BYTES_MAX
    }

    /// Reads on in the body, and puts what has come behind the head.
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
                // What TLS has encrypted must go out while this side waits for more.
                Some(connection) => match connection.stream.poll_flush(cx) {
                    Poll::Ready(Err(error)) => Poll::Ready(Err(PumpError::Sink(error))),
                    _ => Poll::Pending,
                },
                None => Poll::Pending,
            },
        }
    }
}
