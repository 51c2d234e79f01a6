//! What an exchange keeps of its request after the head has gone out.

use weir_http::{HeaderTable, KnownHeader, Method, Peer, RequestHead, Span, Version};
use weir_net::BufferPool;

/// What the response, the log and retries need to know.
#[derive(Debug)]
pub(crate) struct RequestFacts {
    pub(crate) method: Method,
    pub(crate) is_head: bool,
    pub(crate) version: Version,
    /// The client and the listener permit another request on this connection.
    pub(crate) keep_alive: bool,
    /// The client would send another.
    pub(crate) client_persists: bool,
    /// The protocol that an upgrade was asked for to, which was passed on.
    pub(crate) upgrade: Option<Box<[u8]>>,
    /// Index among the listener's routes.
    pub(crate) route: usize,
    /// As it came.
    pub(crate) head_bytes: u32,
    /// The request's id; empty = none.
    pub(crate) id: Box<str>,
    /// The client, where a trusted peer names it; `None` = the peer.
    pub(crate) client: Option<Box<Peer>>,
    /// The head, where the log or the route's rules need it later.
    pub(crate) copy: Option<Box<RequestCopy>>,
}

impl RequestFacts {
    /// Who asks.
    pub(crate) fn asker(&self) -> Asker<'_> {
        Asker { id: &self.id, client: self.client.as_deref() }
    }
}

/// Who asks, and under which id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    /// Empty = none.
    pub(crate) id: &'a str,
    /// The client, where a trusted peer names it; `None` = the peer.
    pub(crate) client: Option<&'a Peer>,
}

/// A request's path where it has more than one spelling.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PathSpelling<'a> {
    /// The target as the client sent it, where another has taken its place in the head.
    pub(crate) sent_target: Option<&'a [u8]>,
    /// The path that rules compare; `None` = that of the head.
    pub(crate) compared: Option<&'a [u8]>,
}

/// A request head, kept.
#[derive(Debug)]
pub(crate) struct RequestCopy {
    /// With the target as servers get it.
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
