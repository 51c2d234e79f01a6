//! The client's connection, as an exchange uses it.

use std::rc::Rc;
use std::task::Context;

use weir_http::{Exchange as Names, Peer, TlsNames};
use weir_net::{Deadline, Stream};

use crate::connect::ProxiedClient;
use crate::http::connection::ClientTlsFacts;
use crate::http::response::Reading;
use crate::worker::{Drain, LocalHttp, Worker};

/// Parts of the client's connection that an exchange needs while it is polled.
pub(crate) struct ClientSide<'a> {
    pub(crate) stream: &'a mut Stream,
    pub(crate) deadline: &'a Deadline,
    pub(crate) listener: &'a Rc<LocalHttp>,
    pub(crate) worker: &'a Rc<Worker>,
    /// Number of the connection in the worker's table.
    pub(crate) number: u32,
    pub(crate) peer: &'a Peer,
    pub(crate) tls: Option<&'a ClientTlsFacts>,
    pub(crate) proxied: Option<ProxiedClient>,
}

impl ClientSide<'_> {
    /// Returns the names of all parties of an exchange, for templates.
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

    /// Returns true if the client no longer waits for its response. It has then broken the connection, or it
    /// has ended its direction and the listener does not permit half-closed clients. Unread bytes from the
    /// client, such as pipelined requests, do not matter. A client whose socket is not watched yet is checked
    /// only if `surely` is set, because that costs a system call and most waits are short.
    pub(super) fn is_gone(&self, cx: &mut Context<'_>, surely: bool) -> bool {
        let socket = self.stream.socket();
        if !surely && !socket.is_watched() {
            return false;
        }
        if self.listener.http.plan.half_close { socket.is_broken(cx) } else { socket.has_ended(cx) }
    }

    /// Returns true if the client has broken the connection, while bytes wait to be sent to it. If the client
    /// has closed, the next bytes break the connection. If it has only ended its direction, it still takes
    /// them.
    pub(super) fn is_broken(&self, cx: &mut Context<'_>, surely: bool) -> bool {
        let socket = self.stream.socket();
        (surely || socket.is_watched()) && socket.is_broken(cx)
    }

    /// Returns true if the connection must close because new connections need its room. Call it when the
    /// deadline has passed.
    #[cold]
    pub(super) fn gives_way(&self) -> bool {
        self.worker.table.gives_way(self.number)
    }

    /// Returns true if the client's connection may be used for another request, as far as this process is
    /// concerned.
    pub(crate) fn may_keep_alive(&self) -> bool {
        self.worker.drain.get() == Drain::No
    }
}
