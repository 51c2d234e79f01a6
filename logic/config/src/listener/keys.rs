//! Keys of `[listener.NAME]`.

use super::paths::keys::PATHS;
use crate::schema::Kind::{
    AnyOf, ByteRate, Choice, Flag, Integer, Off, OneOrMany, Size, Table, Tables, Text,
};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{COUNT, DURATION, Section, key};
use crate::tls::keys::TLS_IN;

pub(crate) static LISTENER: Section = Section {
    noun: "listener",
    title: "[listener.NAME]",
    meaning: "An address that accepts, and what becomes of what it accepts.",
    keys: &[
        key(
            "bind",
            OneOrMany(&Text("an address to bind")),
            Required,
            "[\"0.0.0.0:80\", \"[::]:80\"]",
            "Where it accepts: `address:port`, `:port` (every address of both families) or `unix:/path`.",
        ),
        key(
            "mode",
            Choice(&["http", "tcp"]),
            Default("\"http\""),
            "\"tcp\"",
            "What is spoken: HTTP/1, or any bytes.",
        ),
        key(
            "pool",
            Text("the name of a pool"),
            Otherwise("what no route takes is answered 404 (TCP: closed)"),
            "\"web\"",
            "Takes what no route takes.",
        ),
        key(
            "storage",
            Text("the name of a storage area"),
            Otherwise("`pool`"),
            "\"data\"",
            "Takes what no route takes, instead of `pool`.",
        ),
        key(
            "sni",
            Tables(&SNI),
            Otherwise("everything goes to `pool`"),
            "[{ host = \"a.example.org\", pool = \"a\" }]",
            "TCP only: chooses a pool by the name in the TLS ClientHello, which is read but not ended here. The first \
             that matches.",
        ),
        key(
            "tls",
            Table(&TLS_IN),
            Otherwise("plaintext"),
            "{ certificates = \"/etc/weir/site.pem\" }",
            "TLS towards clients.",
        ),
        key(
            "proxy-protocol",
            Table(&PROXY_PROTOCOL_IN),
            Otherwise("no PROXY header is read"),
            "{ from = \"10.0.0.0/8\" }",
            "Peers that speak the PROXY protocol, version 1 or 2.",
        ),
        key(
            "max-connections",
            COUNT,
            Otherwise("only the limit of the process"),
            "20000",
            "More connections than this are not kept: idle and stalled ones of the client that has most of them give way to others, or else the \
             newcomer is refused.",
        ),
        key(
            "max-connections-per-client",
            COUNT,
            Otherwise("no limit"),
            "200",
            "More connections of one client (an IPv4 address, an IPv6 /64, or whom a PROXY header names) are refused at once. Proxies in \
             `forwarded.trusted` have no such limit.",
        ),
        key(
            "backlog",
            Integer { min: 1, max: 65_535 },
            Default("4096"),
            "1024",
            "The kernel's queue of connections that are not yet accepted.",
        ),
        key(
            "half-close",
            Flag,
            Default("false"),
            "true",
            "HTTP only: clients may end their direction (`shutdown`, `nc -N`) after their last request and still get their responses. Else \
             a client that does so while Weir waits for its server counts as gone: its request ends, at the server, too.",
        ),
        key(
            "timeouts",
            Table(&TIMEOUTS),
            Otherwise("every key has its default"),
            "{ head = \"5s\" }",
            "How long clients may take.",
        ),
        key(
            "limits",
            Table(&LIMITS),
            Otherwise("every key has its default"),
            "{ headers = 50 }",
            "HTTP only: how large request heads may be.",
        ),
        key(
            "paths",
            AnyOf(&[Off, Table(&PATHS)]),
            Otherwise("every key has its default"),
            "{ encoded-slash = \"keep\" }",
            "HTTP only: how the paths of requests are read, so that a rule and the server see the same. `false` = as they were \
             sent: only where no rule for a path has to hold, or where all servers compare paths byte by byte.",
        ),
        key(
            "forwarded",
            Table(&FORWARDED),
            Otherwise("every key has its default"),
            "{ trusted = \"10.0.0.0/8\" }",
            "HTTP only: what servers are told of the client, and what is believed of what clients say.",
        ),
    ],
};

pub(crate) static SNI: Section = Section {
    noun: "sni",
    title: "[[listener.NAME.sni]]",
    meaning: "Sends a TLS connection to a pool by its server name.",
    keys: &[
        key(
            "host",
            OneOrMany(&Text("a host name or `*.` and a domain")),
            Required,
            "[\"example.org\", \"*.example.org\"]",
            "Names; one suffices.",
        ),
        key("pool", Text("the name of a pool"), Required, "\"web\"", "Where the connection goes."),
    ],
};

pub(crate) static PROXY_PROTOCOL_IN: Section = Section {
    noun: "",
    title: "[listener.NAME.proxy-protocol]",
    meaning: "Who speaks the PROXY protocol to the listener.",
    keys: &[key(
        "from",
        OneOrMany(&Text("a network or an IP address")),
        Required,
        "[\"10.0.0.0/8\", \"::1\"]",
        "From these networks a header is required; from anywhere else none is read.",
    )],
};

pub(crate) static TIMEOUTS: Section = Section {
    noun: "",
    title: "[listener.NAME.timeouts]",
    meaning: "How long clients may take. Bodies are limited by idleness and rate, never by total time.",
    keys: &[
        key(
            "head",
            DURATION,
            Default("\"10s\""),
            "\"5s\"",
            "From the first byte of a request to the end of its head, PROXY header and TLS handshake included. TCP: how \
             long PROXY header and ClientHello may take.",
        ),
        key("idle", DURATION, Default("\"60s\""), "\"15s\"", "HTTP only: between requests."),
        key(
            "body",
            DURATION,
            Default("\"60s\""),
            "\"20s\"",
            "HTTP only: no byte of a body, or a client that takes no byte: none that its kernel acknowledges. Whether a client that leaves no room takes \
             some is seen over a quarter of this time more.",
        ),
        key(
            "min-body-rate",
            ByteRate,
            Default("\"500B/s\""),
            "\"2KiB/s\"",
            "HTTP only: a body of which the client sends or takes less than this over the time of `body`, while it is the client that is \
             waited for, ends like an idle one; \"0B/s\" = off.",
        ),
        key(
            "tunnel",
            DURATION,
            Default("\"1h\""),
            "\"10m\"",
            "No byte in either direction of an upgraded connection (WebSocket) or of a TCP connection.",
        ),
    ],
};

pub(crate) static LIMITS: Section = Section {
    noun: "",
    title: "[listener.NAME.limits]",
    meaning: "How large the heads of requests and responses may be, and how often a connection is used.",
    keys: &[
        key(
            "head",
            Size { min: 1 << 10, max: 1 << 20 },
            Default("\"32KiB\""),
            "\"16KiB\"",
            "Start line and header lines together. Over it: 431.",
        ),
        key(
            "headers",
            Integer { min: 1, max: weir_http::HeadLimits::HEADERS_CEILING as u64 },
            Default("100"),
            "50",
            "Header lines. Over it: 431.",
        ),
        key(
            "target",
            Size { min: 64, max: 1 << 20 },
            Default("\"8KiB\""),
            "\"4KiB\"",
            "The request target. Over it: 414.",
        ),
        key(
            "requests-per-connection",
            COUNT,
            Otherwise("no limit"),
            "10000",
            "After that many the connection is closed.",
        ),
    ],
};

pub(crate) static FORWARDED: Section = Section {
    noun: "",
    title: "[listener.NAME.forwarded]",
    meaning: "What servers are told of the client, and what is believed of what clients say. `set`: the client's own \
              lines are replaced by what Weir saw; `append`: always appended to; `pass`: passed as they came; `remove`: \
              removed.",
    keys: &[
        key(
            "x-forwarded",
            Choice(FORWARDING),
            Default("\"set\""),
            "\"append\"",
            "X-Forwarded-For, -Proto and -Host. Other X-Forwarded-NAME lines are never added; a trusted peer's are passed, a \
             stranger's only with `pass`.",
        ),
        key("forwarded", Choice(FORWARDING), Default("\"remove\""), "\"set\"", "Forwarded (RFC 7239)."),
        key(
            "trusted",
            OneOrMany(&Text("a network or an IP address")),
            Otherwise("nobody"),
            "\"10.0.0.0/8\"",
            "Peers whose X-Forwarded-* and Forwarded are believed and appended to, whatever the rules above say. Whom they name \
             is the client, for routes, expressions, source hashes, {client_ip} and every log alike; the log as JSON has the \
             peer, too.",
        ),
        key(
            "identity-headers",
            OneOrMany(&Text("a header name, or its beginning and `*`")),
            Otherwise(
                "X-VOMS-*, X-Remote-User, X-Original-URL, X-Rewrite-URL, X-Accel-*, X-Sendfile* and Proxy",
            ),
            "[\"X-SSL-*\", \"X-Auth-User\"]",
            "Header names removed from client requests, in addition to X-VOMS-*, X-Remote-User, X-Original-URL, X-Rewrite-URL, X-Accel-*, X-Sendfile* and Proxy. \
             Other punctuation (`X_Remote_User`, `X.Remote.User`) counts as `-`, as it does for CGI programs. In the trailers of a chunked body they are refused with 400.",
        ),
        key(
            "via",
            AnyOf(&[Text("a pseudonym"), Off]),
            Default("\"weir\""),
            "\"edge-1\"",
            "The pseudonym in `Via: 1.1 NAME`; `false` = no Via header.",
        ),
        key(
            "request-id",
            AnyOf(&[Flag, Table(&REQUEST_ID)]),
            Default("false"),
            "true",
            "Gives each request an id.",
        ),
    ],
};

const FORWARDING: &[&str] = &["set", "append", "pass", "remove"];

pub(crate) static REQUEST_ID: Section = Section {
    noun: "",
    title: "[listener.NAME.forwarded.request-id]",
    meaning: "Gives each request an id, in the request to the server, the response to the client and the access log. Answers \
              of Weir's own have it, too. What cannot be read as a request gets a new one, in answer and log; a connection that \
              is turned away at its limit has none.",
    keys: &[
        key(
            "header",
            Text("a header name"),
            Default("\"X-Request-Id\""),
            "\"X-Correlation-Id\"",
            "The header that carries it.",
        ),
        key(
            "accept",
            Flag,
            Default("false"),
            "true",
            "A client's own id is kept if it is 1 to 128 visible ASCII characters; else a new one is made.",
        ),
    ],
};
