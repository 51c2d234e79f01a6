//! Whether the peer of a socket is still there, although nobody reads from it.

use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, recv};

use super::{Kind, Socket, Untold};

impl Socket {
    /// Returns whether the peer has broken the connection; if not, the task is woken when it does. A peer that has only ended its own
    /// direction has not. Not to be asked once the own direction has been ended.
    #[inline]
    pub fn is_broken(&self, cx: &mut Context<'_>) -> bool {
        match self.poll_peek(cx, &mut [0]) {
            Poll::Ready(Err(_)) => true,
            // The events of a Unix socket do not tell a break from an end, and what came before an end is still wanted.
            Poll::Ready(Ok(_)) => self.kind == Kind::Tcp && self.poll_broken(cx).is_ready(),
            Poll::Pending => false,
        }
    }

    /// Returns whether bytes are there to be read, by the kernel's word: the end of the connection does not count.
    pub fn has_bytes_now(&self) -> bool {
        let peeked = recv(&self.fd, &mut [0][..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        matches!(peeked, Ok((bytes, _)) if bytes > 0)
    }

    /// Ready once the peer has broken the connection, by a reset, though bytes of it are unread: reading tells of these first,
    /// and no event of reading comes while they are there.
    pub(super) fn poll_broken(&self, cx: &mut Context<'_>) -> Poll<()> {
        // One that cannot be watched tells when it is written to.
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

    /// Returns whether the peer has ended its direction or broken the connection, although bytes of it may be unread; if not, the task is
    /// woken when it does. The kernel tells of the end by an event (EPOLLRDHUP, epoll_ctl(2)), so that nothing has to be read.
    pub fn has_ended(&self, cx: &mut Context<'_>) -> bool {
        // One that cannot be watched tells when it is read from or written to.
        let Ok(watch) = self.watch() else { return false };
        while let Poll::Ready(Ok(mut ready)) = watch.poll_read_ready(cx) {
            if ready.ready().is_read_closed() {
                return true;
            }
            // Bytes are there. The next read asks the kernel for them, and the next event may be the end.
            self.untold.set(Untold::Unknown);
            ready.clear_ready();
        }
        false
    }
}
