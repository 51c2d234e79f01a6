//! A response that stands for a file: its body is thrown away, and its server is free before the client has the file.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use weir_config::plan::ConnectionReuse;
use weir_http::{BodyScanner, Scheme};
use weir_net::Deadline;

use super::{ClientSide, Exchange, Hedged, PendingUpload, Place, Upload};
use crate::http::request::RequestFacts;
use crate::http::response::Leftover;
use crate::http::timing::Timing;
use crate::state::{QueueAhead, ServerState};
use crate::sticky::Bond;
use crate::worker::{LocalPool, LocalServer, ServerConnection};

/// A body that nobody wants is read to its end if it is no longer than this; else the connection is closed.
const DISCARD_BYTES_MAX: usize = 64 * 1024;
/// And if its end comes within this time.
const DISCARD_TIME: Duration = Duration::from_secs(1);
const READ_BYTES: usize = 4 * 1024;

/// What is left of an exchange whose server has named a file, while that is sent.
pub(crate) struct Offloaded {
    pub(crate) pool: Rc<LocalPool>,
    pub(crate) server: Option<std::sync::Arc<ServerState>>,
    pub(crate) timing: Timing,
    pub(crate) bond: Option<Box<Bond>>,
    pub(crate) place: Place,
    /// An upload that the server has permitted, in place of a file that it has named.
    pub(crate) pending: Option<PendingUpload>,
    /// How the server was spoken to.
    pub(crate) scheme: Scheme,
    /// Interim heads that the client has not got yet.
    pub(crate) unsent: Vec<u8>,
    /// The file goes out no faster than this.
    pub(crate) bytes_per_second_max: Option<u64>,
    /// Bytes of the request's body that were read.
    pub(crate) upload_bytes: u64,
    /// And whether that was all of it.
    pub(crate) upload_done: bool,
    pub(crate) retries: u8,
    pub(crate) redispatched: bool,
    pub(crate) hedged: Hedged,
    pub(crate) queue_ahead: QueueAhead,
}

impl Exchange {
    /// Reads what is left of a response without passing it on, so that the server's connection can carry another request.
    #[cold]
    pub(super) fn discard(&mut self, leftover: Leftover, cx: &mut Context<'_>, client: &ClientSide<'_>) {
        let (Some(connection), Some(lease)) = (self.connection.take(), &self.lease) else { return };
        let keeps = self.response.as_ref().is_some_and(|response| response.server_keeps);
        let is_plain = self.pool.shared.plan.proxy_protocol.is_none();
        let sent = self.upload_state == Upload::Done;
        let Leftover { scanner, has_surplus } = leftover;
        let is_short = scanner.remaining_exact().is_none_or(|left| left <= DISCARD_BYTES_MAX as u64);
        if !keeps || !is_plain || !sent || has_surplus || !is_short || !client.may_keep_alive() {
            return;
        }
        let mut rest = Rest {
            server: Rc::clone(&lease.server),
            connection: Some(connection),
            scanner,
            left: DISCARD_BYTES_MAX,
            reuse: self.pool.shared.plan.reuse.clone(),
        };
        if rest.poll(cx).is_pending() {
            let deadline = client.worker.timers.deadline();
            deadline.arm(client.worker.now(), DISCARD_TIME);
            tokio::task::spawn_local(rest.run(deadline));
        }
    }

    /// The exchange without its server: that can have the next request.
    pub(crate) fn into_offloaded(mut self) -> (RequestFacts, Offloaded) {
        let offloaded = Offloaded {
            pending: self.take_pending(),
            place: self.place,
            server: self.lease.as_ref().map(|lease| std::sync::Arc::clone(&lease.server.shared)),
            scheme: if self.pool.shared.plan.tls.is_some() { Scheme::Https } else { Scheme::Http },
            upload_bytes: self.upload.bytes_read,
            upload_done: self.upload_state == Upload::Done,
            pool: self.pool,
            timing: self.timing,
            bond: self.bond,
            unsent: self.unsent,
            bytes_per_second_max: None,
            retries: self.retries,
            redispatched: self.redispatched,
            hedged: self.hedged,
            queue_ahead: self.queue_ahead,
        };
        (self.request, offloaded)
    }
}

/// The rest of a response that nobody wants.
struct Rest {
    server: Rc<LocalServer>,
    connection: Option<ServerConnection>,
    scanner: BodyScanner,
    left: usize,
    reuse: ConnectionReuse,
}

impl Rest {
    /// Ready when the connection is idle, or closed.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut nowhere = [0; READ_BYTES];
        while let Some(connection) = &mut self.connection {
            if self.scanner.is_done() {
                if let Some(connection) = self.connection.take() {
                    self.server.keep_idle(connection, &self.reuse, std::time::Instant::now());
                }
                return Poll::Ready(());
            }
            let read = match connection.stream.poll_read(cx, &mut nowhere) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(read)) => read,
                Poll::Ready(Err(_)) => 0,
            };
            // Too much, the end, what is no chunk, or more than the body: in each case the connection is of no use.
            let goes_on = read > 0 && read <= self.left && self.scanner.feed(&nowhere[..read]) == Ok(read);
            if !goes_on {
                self.connection = None;
            }
            self.left = self.left.saturating_sub(read);
        }
        Poll::Ready(())
    }

    async fn run(mut self, deadline: Deadline) {
        poll_fn(|cx| match self.poll(cx) {
            Poll::Pending if deadline.poll_expired(cx) => Poll::Ready(()),
            polled => polled,
        })
        .await;
    }
}
