//! Request metadata that outlives the head buffer.

use weir_http::{HeaderTable, KnownHeader, Method, Peer, RequestHead, Span, Version};
use weir_net::BufferPool;

/// Facts of a request for the response, the log and retries.
#[derive(Debug)]
pub(crate) struct RequestFacts {
    pub(crate) method: Method,
    pub(crate) is_head: bool,
    pub(crate) version: Version,
    /// True if the client and the listener permit another request on this connection.
    pub(crate) keep_alive: bool,
    /// True if the client may send another request.
    pub(crate) client_persists: bool,
    /// Protocol of a forwarded upgrade.
    pub(crate) upgrade: Option<Box<[u8]>>,
    /// Index among the listener's routes.
    pub(crate) route: usize,
    /// Size of the head as received.
    pub(crate) head_bytes: u32,
    /// Id of the request; empty = none.
    pub(crate) id: Box<str>,
    /// Client, if a trusted peer names it; `None` = the peer.
    pub(crate) client: Option<Box<Peer>>,
    /// Copy of the head, if the log or the route's rules need it later.
    pub(crate) copy: Option<Box<RequestCopy>>,
}

impl RequestFacts {
    /// Returns the id and the client of the request.
    pub(crate) fn asker(&self) -> Asker<'_> {
        Asker { id: &self.id, client: self.client.as_deref() }
    }
}

/// Id and client of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    /// Id of the request; empty = none.
    pub(crate) id: &'a str,
    /// Client, if a trusted peer names it; `None` = the peer.
    pub(crate) client: Option<&'a Peer>,
}

/// A request's path, if it has more than one spelling.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PathSpelling<'a> {
    /// Target as the client sent it, if the head has a rewritten one.
    pub(crate) sent_target: Option<&'a [u8]>,
    /// Path that the rules compare; `None` = that of the head.
    pub(crate) compared: Option<&'a [u8]>,
}

/// A copy of a request head.
#[derive(Debug)]
pub(crate) struct RequestCopy {
    /// The head, with the target as servers get it.
    pub(crate) head: Vec<u8>,
    /// [`PathSpelling::sent_target`].
    pub(crate) sent_target: Option<Box<[u8]>>,
    /// [`PathSpelling::compared`].
    pub(crate) compared_path: Option<Box<[u8]>>,
    pub(crate) parsed: RequestHead,
    pub(crate) referer: Span,
    pub(crate) user_agent: Span,
}

impl RequestCopy {
    pub(crate) fn of(
        buf: &[u8],
        parsed: &RequestHead,
        table: &HeaderTable,
        spelling: PathSpelling<'_>,
        buffers: &BufferPool,
    ) -> Box<Self> {
        let span = |known| table.find(known).map(|entry| entry.value()).unwrap_or_default();
        Box::new(Self {
            head: buffers.take_with(&buf[..parsed.head_bytes as usize]),
            sent_target: spelling.sent_target.map(Box::from),
            compared_path: spelling.compared.map(Box::from),
            parsed: *parsed,
            referer: span(KnownHeader::Referer),
            user_agent: span(KnownHeader::UserAgent),
        })
    }
}
