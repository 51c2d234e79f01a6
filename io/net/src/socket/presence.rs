//! Detection of a peer that has gone, without reading.

use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, recv};

use super::{Kind, Socket, Untold};

impl Socket {
    /// Returns true if the peer has broken the connection. Otherwise the task is woken when it does. A peer
    /// that has only ended its own direction has not broken it. Must not be called after the own direction
    /// has ended.
    #[inline]
    pub fn is_broken(&self, cx: &mut Context<'_>) -> bool {
        match self.poll_peek(cx, &mut [0]) {
            Poll::Ready(Err(_)) => true,
            // Events of a Unix socket do not distinguish a break from an end, and input before an end is
            // still needed.
            Poll::Ready(Ok(_)) => self.kind == Kind::Tcp && self.poll_broken(cx).is_ready(),
            Poll::Pending => false,
        }
    }

    /// Asks the kernel whether bytes can be read; the end of the connection does not count.
    pub fn has_bytes_now(&self) -> bool {
        let peeked = recv(&self.fd, &mut [0][..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        matches!(peeked, Ok((bytes, _)) if bytes > 0)
    }

    /// Returns ready once the peer has reset the connection, even with unread input. A read would return that
    /// input first, and no read event comes while it is there.
    pub(super) fn poll_broken(&self, cx: &mut Context<'_>) -> Poll<()> {
        // If the socket cannot be registered, the next write detects the break.
        let Ok(watch) = self.watch() else { return Poll::Pending };
        while let Ok(mut ready) = ready!(watch.poll_write_ready(cx)) {
            if ready.ready().is_write_closed() {
                return Poll::Ready(());
            }
            self.room_untold.set(true);
            ready.clear_ready();
        }
        Poll::Pending
    }

    /// Returns true if the peer has ended its direction or broken the connection, even with unread input.
    /// Otherwise the task is woken when it does. The kernel reports the end by an event (EPOLLRDHUP,
    /// epoll_ctl(2)), so no read is needed.
    pub fn has_ended(&self, cx: &mut Context<'_>) -> bool {
        // If the socket cannot be registered, the next read or write detects the end.
        let Ok(watch) = self.watch() else { return false };
        while let Poll::Ready(Ok(mut ready)) = watch.poll_read_ready(cx) {
            if ready.ready().is_read_closed() {
                return true;
            }
            // Input is available. The next read asks the kernel for it, and the next event may be the end.
            self.untold.set(Untold::Unknown);
            ready.clear_ready();
        }
        false
    }
}
