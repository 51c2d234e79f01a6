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

    /// Whether the client has broken the connection. One that has only ended its own direction still wants its answer.
    /// A client that has never been waited for is asked only `surely`: that costs a call, and most waits are short.
    pub(super) fn is_gone(&self, cx: &mut Context<'_>, surely: bool) -> bool {
        if !surely && !self.stream.socket().is_watched() {
            return false;
        }
        self.stream.socket().is_broken(cx)
    }

    /// Whether the client's connection may be used for another request, as far as this process is concerned.
    pub(crate) fn may_keep_alive(&self) -> bool {
        self.worker.drain.get() == Drain::No
    }
}
