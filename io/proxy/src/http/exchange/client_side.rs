use std::rc::Rc;
use std::task::Context;

use weir_http::{Exchange as Names, Peer, TlsNames};
use weir_net::{Deadline, Stream};

use crate::connect::ProxiedClient;
use crate::http::connection::ClientTlsFacts;
use crate::http::response::Reading;
use crate::worker::{Drain, LocalHttp, Worker};

/// What an exchange needs of its client's connection while it is polled.
pub(crate) struct ClientSide<'a> {
    pub(crate) stream: &'a mut Stream,
    pub(crate) deadline: &'a Deadline,
    pub(crate) listener: &'a Rc<LocalHttp>,
    pub(crate) worker: &'a Rc<Worker>,
    /// The connection's number in the worker's table.
    pub(crate) number: u32,
    pub(crate) peer: &'a Peer,
    pub(crate) tls: Option<&'a ClientTlsFacts>,
    pub(crate) proxied: Option<ProxiedClient>,
}

impl ClientSide<'_> {
    /// Who takes part in an exchange.
    pub(crate) fn names<'b>(&'b self, reading: &Reading<'b>, tls: Option<&'b TlsNames<'b>>) -> Names<'b> {
        Names {
            peer: self.peer,
            client: reading.request.client.as_deref().unwrap_or(self.peer),
            request_id: &reading.request.id,
            listener: self.listener.name(),
            route: self
                .listener
                .http
                .routes
                .get(reading.request.route)
                .map_or("", |route| route.plan.name.as_str()),
            pool: reading.pool,
            server: Some(&reading.server.name),
            tls,
        }
    }

    /// Returns whether the client does not wait for its response any more: it has broken the connection, or it has ended its direction and the
    /// listener does not expect that of clients that still read. Bytes that it has sent before, pipelined requests for one, do not count.
    /// A client that has never been waited for is asked only `surely`: that costs a call, and most waits are short.
    pub(super) fn is_gone(&self, cx: &mut Context<'_>, surely: bool) -> bool {
        let socket = self.stream.socket();
        if !surely && !socket.is_watched() {
            return false;
        }
        if self.listener.http.plan.half_close { socket.is_broken(cx) } else { socket.has_ended(cx) }
    }

    /// The same while bytes wait for the client to take them. One that has closed breaks the connection with the next of them; one
    /// that has only ended its direction takes them.
    pub(super) fn is_broken(&self, cx: &mut Context<'_>, surely: bool) -> bool {
        let socket = self.stream.socket();
        (surely || socket.is_watched()) && socket.is_broken(cx)
    }

    /// Returns whether the connection has to end, because others need its room. To be asked when the deadline has passed.
    #[cold]
    pub(super) fn gives_way(&self) -> bool {
        self.worker.table.gives_way(self.number)
    }

    /// Whether the client's connection may be used for another request, as far as this process is concerned.
    pub(crate) fn may_keep_alive(&self) -> bool {
        self.worker.drain.get() == Drain::No
    }
}
