//! The fields of each format on the reference page.

/// One field of a format; the order of the tables is the order in the line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) meaning: &'static str,
}

const fn field(name: &'static str, unit: &'static str, meaning: &'static str) -> Field {
    Field { name, unit, meaning }
}

const CLIENT: &str = "\
    who sent it: whoever has connected, the PROXY protocol's word included, or the client that a `trusted` peer names; \
    `unix:` = through a Unix socket";

pub(super) const COMMON: &[Field] = &[
    field("client", "address", CLIENT),
    field("identity", "", "never known"),
    field("user", "", "never known"),
    field("time", "UTC", "when the request's first byte came"),
    field("request", "", "method, target and version as the client sent them; `-` if it could not be read"),
    field("status", "", "what the client got; `000` if it got none"),
    field(
        "body_bytes_out",
        "bytes",
        "the response's body, as it came from the server (chunk framing included)",
    ),
];

/// Fields after those of [`COMMON`].
pub(super) const COMBINED: &[Field] = &[
    field("referer", "", "the Referer header; `-` = none"),
    field("user_agent", "", "the User-Agent header; `-` = none"),
];

const CLIENT_PORT: Field = field(
    "client",
    "address:port",
    "who sent it, as above, with port 0 where a `trusted` peer names it; `unix:1` = through a Unix socket",
);
const POOL_SERVER: Field = field(
    "pool/server",
    "names",
    "where it went last; without a pool the listener, without a server `<NOSRV>`",
);
const COUNTS: &str = "connections of the process and of the listener, requests in flight at the server (twice), further tries \
     after the first; `+` = one of them went to another server";

pub(super) const HTTPLOG: &[Field] = &[
    CLIENT_PORT,
    field("accept_date", "UTC, ms", "when the request's first byte came"),
    field("listener", "name", "who took it; `~` = over TLS"),
    POOL_SERVER,
    field(
        "TR/Tw/Tc/Tr/Ta",
        "ms",
        "reading the request's head, waiting for a server, connecting, waiting for the response's first byte, all of it",
    ),
    field("status", "", "what the client got; -1 if it got none"),
    field("bytes_read", "bytes", "sent to the client, head included"),
    field("request_cookie", "", "never captured"),
    field("response_cookie", "", "never captured"),
    field("termination_state", "", "[how it ended](#termination-codes)"),
    field("actconn/feconn/beconn/srv_conn/retries", "", COUNTS),
    field(
        "srv_queue/backend_queue",
        "",
        "how many were served while it waited for the server that it is bound to, and for any server of the pool",
    ),
    field("request", "", "method, target and version as the client sent them"),
];

pub(super) const TCPLOG: &[Field] = &[
    CLIENT_PORT,
    field("accept_date", "UTC, ms", "when the connection was accepted"),
    field("listener", "name", "who took it; `~` = over TLS"),
    POOL_SERVER,
    field("Tw/Tc/Tt", "ms", "waiting for a server, connecting, all of it"),
    field("bytes_read", "bytes", "sent to the client"),
    field("termination_state", "", "[how it ended](#termination-codes)"),
    field("actconn/feconn/beconn/srv_conn/retries", "", COUNTS),
    field(
        "srv_queue/backend_queue",
        "",
        "how many were served while it waited for the server that it is bound to, and for any server of the pool",
    ),
];

pub(super) const JSON: &[Field] = &[
    field("time", "UTC, µs", "when the request's first byte came; TCP: when the connection was accepted"),
    field("client", "address", CLIENT),
    field("client_port", "", "not through a Unix socket, nor where a `trusted` peer names the client"),
    field("peer", "address", "who has connected, where that is a `trusted` peer that names another client"),
    field("peer_port", "", "of the same"),
    field(
        "kind",
        "",
        "`request`; `connection` in TCP mode; `bad-request` = could not be read, or did not come in time or not at all, or a connection that did not \
         get as far as a request",
    ),
    field("method", "", "requests only, as the client sent it"),
    field("target", "", "requests only, as the client sent it"),
    field(
        "path",
        "",
        "the path that routes, expressions and keys have compared, if its spelling in `target` is another (`paths` of the listener)",
    ),
    field("version", "", "requests only"),
    field("host", "", "the Host header"),
    field("referer", "", "the Referer header"),
    field("user_agent", "", "the User-Agent header"),
    field(
        "request_id",
        "",
        "the id that was created or passed on, where the listener has ids; of a `bad-request` the one in its answer",
    ),
    field("status", "", "what the client got; left out if it got none"),
    field("bytes_in", "bytes", "read from the client, head included"),
    field("bytes_out", "bytes", "sent to the client, head included"),
    field(
        "body_bytes_out",
        "bytes",
        "the response's body, as it came from the server (chunk framing included)",
    ),
    field("listener", "name", "who took it"),
    field("route", "name", "the route that it matched"),
    field("pool", "name", "where it went"),
    field("server", "name", "the last one that it was sent to"),
    field("server_address", "address", "that server's, as configured or changed at runtime"),
    field("tls_version", "", "of the client's session; left out without TLS"),
    field("tls_cipher", "", "the same session's, by its IANA name"),
    field("head_us", "µs", "from the request's first byte to the end of its head"),
    field("queue_us", "µs", "waiting for a server; left out if none was reached"),
    field("connect_us", "µs", "connecting to the server; next to nothing over a connection that was open"),
    field("first_byte_us", "µs", "from there to the response's first byte"),
    field("total_us", "µs", "from the request's first byte to the response's last"),
    field("retries", "", "further tries after the first"),
    field("redispatched", "", "one of them went to another server"),
    field(
        "hedge",
        "",
        "`won` or `lost`: a second try was made beside a slow first one; left out if none was",
    ),
    field(
        "offloaded",
        "",
        "`true`: the server named a file, or a place for an upload, and the answer is Weir's: the file, or an error in its place; left out if it did not",
    ),
    field("termination", "", "[how it ended](#termination-codes)"),
    field("refused_by", "", "[what was wrong with it](#refusals), if it was refused for that"),
    field("active_process", "", "client connections of the process, this one included"),
    field("active_listener", "", "client connections of the listener"),
    field("active_pool", "", "the same as `active_server`"),
    field("active_server", "", "requests in flight at the server; 0 without one"),
    field("queue_ahead", "", "how many were given a server while this one waited for its own"),
];
