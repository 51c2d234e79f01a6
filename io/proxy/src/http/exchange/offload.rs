//! Handles a response that stands for a file: discards its body, so that the server is free before the client
//! has the file.

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

/// Maximum size of a discarded body that is read to its end; with a longer one, the connection is closed.
const DISCARD_BYTES_MAX: usize = 64 * 1024;
/// Maximum time for reading that body.
const DISCARD_TIME: Duration = Duration::from_secs(1);
const READ_BYTES: usize = 4 * 1024;

/// Rest of an exchange whose server has named a file, while the file is sent.
pub(crate) struct Offloaded {
    pub(crate) pool: Rc<LocalPool>,
    pub(crate) server: Option<std::sync::Arc<ServerState>>,
    pub(crate) timing: Timing,
    pub(crate) bond: Option<Box<Bond>>,
    pub(crate) place: Place,
    /// Upload that the server has permitted; it takes the place of a file.
    pub(crate) pending: Option<PendingUpload>,
    /// Scheme of the connection to the server.
    pub(crate) scheme: Scheme,
    /// Interim heads that the client has not received yet.
    pub(crate) unsent: Vec<u8>,
    /// Maximum rate for sending the file.
    pub(crate) bytes_per_second_max: Option<u64>,
    /// Bytes read of the request's body.
    pub(crate) upload_bytes: u64,
    /// True if that was the whole body.
    pub(crate) upload_done: bool,
    pub(crate) retries: u8,
    pub(crate) redispatched: bool,
    pub(crate) hedged: Hedged,
    pub(crate) queue_ahead: QueueAhead,
}

impl Exchange {
    /// Reads the rest of a response without forwarding it, so that the server's connection can carry another
    /// request.
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

    /// Detaches the exchange from its server, which can then take the next request.
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

/// Rest of a discarded response.
struct Rest {
    server: Rc<LocalServer>,
    connection: Option<ServerConnection>,
    scanner: BodyScanner,
    left: usize,
    reuse: ConnectionReuse,
}

impl Rest {
    /// Becomes ready when the connection is idle, or closed.
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
            // The connection is unusable after too many bytes, after its end, after a framing error, or if
            // bytes follow the body.
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
