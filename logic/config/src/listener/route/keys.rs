//! Keys of `[[route]]`.

use crate::common::keys::HEADER_TEXTS;
use crate::listener::plan::Priority;
use crate::schema::Kind::{AnyOf, Flag, Integer, Map, OneOrMany, Size, Table, Text};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{Kind, Section, key};

pub(crate) static ROUTE: Section = Section {
    noun: "route",
    title: "[[route]]",
    meaning: "What a request must match, and what happens to it. The first that matches takes the request. Every \
              condition that is written must hold; within one, one entry suffices (of `header`, all must hold). Exactly \
              one of `pool`, `storage`, `redirect` and `respond`.",
    keys: &[
        key(
            "name",
            Text("a name"),
            Otherwise("`route-N` by its place"),
            "\"api\"",
            "What logs and metrics call it.",
        ),
        key(
            "listener",
            OneOrMany(&Text("the name of an HTTP listener")),
            Otherwise("every HTTP listener"),
            "[\"web\", \"web-tls\"]",
            "The listeners it belongs to.",
        ),
        key(
            "host",
            OneOrMany(&Text("a host name or `*.` and a domain")),
            Otherwise("any"),
            "[\"example.org\", \"*.example.org\"]",
            "The Host, without port and case. `*.example.org` stands for one or more labels before it.",
        ),
        key(
            "path",
            OneOrMany(&AnyOf(&[Text("a path"), Table(&PATH)])),
            Otherwise("any"),
            "[\"/api\", \"=/login\", \"/img/*.png\"]",
            "The path without query, in whatever spelling a client sends it (`paths` of the listener). `/api` takes `/api` and what is below it; `/api/` what begins \
             with it; `=/login` exactly that; with `*` (any characters but `/`), `**` (any) or `?` (one but `/`) it is a \
             glob.",
        ),
        key(
            "method",
            OneOrMany(&Text("a method")),
            Otherwise("any"),
            "[\"GET\", \"HEAD\"]",
            "The method, in its own case.",
        ),
        key(
            "header",
            Map("header names", &AnyOf(&[Text("its value"), Flag, Table(&HEADER_TEST)])),
            Otherwise("any"),
            "{ Upgrade = \"websocket\", Cookie = { contains = \"beta=1\" }, Authorization = false }",
            "Header lines: a text = exactly that value, `true` = there, `false` = not there.",
        ),
        key(
            "client",
            OneOrMany(&Text("a network or an IP address")),
            Otherwise("any"),
            "[\"10.0.0.0/8\", \"192.0.2.7\"]",
            "The client's address, after PROXY protocol and trusted forwarding headers.",
        ),
        key(
            "when",
            Text("a CEL expression"),
            Otherwise("nothing more is asked"),
            "\"path.size() > 200 || headers[?'x-beta'].orValue('') == '1'\"",
            "An expression in CEL (cel.dev) that must yield true, where the other conditions do not suffice. Variables: \
             method, host, path, query, headers (lower-case names), client_ip, scheme, listener. Types are checked with the \
             config. One that fails for a request (`headers['x']` without that header) is counted and logged; a route \
             that denies (`respond` with 400 or above) takes the request then, and any other does not.",
        ),
        key(
            "pool",
            Text("the name of a pool"),
            Otherwise("`storage`, `redirect` or `respond`"),
            "\"api\"",
            "Sends the requests to a pool.",
        ),
        key(
            "storage",
            Text("the name of a storage area"),
            Otherwise("`pool`, `redirect` or `respond`"),
            "\"data\"",
            "Answers from a storage area.",
        ),
        key(
            "redirect",
            AnyOf(&[Text("a location"), Table(&REDIRECT)]),
            Otherwise("`pool`, `storage` or `respond`"),
            "\"https://{host}{uri}\"",
            "Answers with a redirect.",
        ),
        key(
            "respond",
            AnyOf(&[Integer { min: 200, max: 599 }, Table(&RESPOND)]),
            Otherwise("`pool`, `storage` or `redirect`"),
            "{ status = 403, body = \"No.\" }",
            "Answers with a fixed response.",
        ),
        key(
            "rewrite",
            Table(&REWRITE),
            Otherwise("the path stays"),
            "{ prefix = \"/api\", to = \"/\" }",
            "Changes the path before the request goes to a server. `Destination` (WebDAV) follows.",
        ),
        key(
            "request-headers",
            Table(&HEADER_CHANGES),
            Otherwise("no changes"),
            "{ set = { X-Route = \"{route}\" } }",
            "Changes to request headers, after Weir's own forwarding headers. Where `Host` is set, `Destination` (WebDAV) follows.",
        ),
        key(
            "response-headers",
            Table(&HEADER_CHANGES),
            Otherwise("no changes"),
            "{ remove = \"Server\" }",
            "Changes to response headers.",
        ),
        key(
            "priority",
            AnyOf(&[PRIORITY_CLASS, Table(&PRIORITY)]),
            Default("0"),
            "-10",
            "Who goes first when requests have to wait for a server: the lowest, however long others wait. Requests of a \
             listener's own `pool` have 0.",
        ),
        key(
            "max-body",
            Size { min: 0, max: u64::MAX },
            Otherwise("any size"),
            "\"10MiB\"",
            "A larger request body is answered 413.",
        ),
    ],
};

const PRIORITY_CLASS: Kind = Kind::Signed { min: Priority::MIN as i64, max: Priority::MAX as i64 };

pub(crate) static PRIORITY: Section = Section {
    noun: "",
    title: "[route.priority]",
    meaning: "A priority that requests tell, and an order within it.",
    keys: &[
        key(
            "class",
            PRIORITY_CLASS,
            Default("0"),
            "10",
            "What holds without the header, or where it has no whole number.",
        ),
        key(
            "header",
            Text("a header name"),
            Otherwise("`class` holds for all"),
            "\"X-Priority\"",
            "A request header that has the priority, brought into -1024 to 1024. Let only those send it whom you trust.",
        ),
        key(
            "offset-ms",
            Kind::Signed { min: -Priority::OFFSET_MAX_MS as i64, max: Priority::OFFSET_MAX_MS as i64 },
            Default("0"),
            "-500",
            "Among requests of the same class (with `fair`, of the same client too) it counts as having come so many milliseconds \
             later, or if negative earlier, than it did (HAProxy: set-priority-offset).",
        ),
        key(
            "offset-header",
            Text("a header name"),
            Otherwise("`offset-ms` holds for all"),
            "\"X-Priority-Offset\"",
            "A request header that has that number, brought into the same range. Let only those send it whom you trust.",
        ),
    ],
};

pub(crate) static PATH: Section = Section {
    noun: "",
    title: "A path",
    meaning: "A path whose kind does not follow from its characters. Exactly one key.",
    keys: &[
        key("exact", Text("a path"), Otherwise("another key"), "\"/a*b\"", "That path."),
        key(
            "prefix",
            Text("a path"),
            Otherwise("another key"),
            "\"/a*b\"",
            "That path and what is below it.",
        ),
        key("glob", Text("a pattern"), Otherwise("another key"), "\"/img/**\"", "Paths like this."),
    ],
};

pub(crate) static HEADER_TEST: Section = Section {
    noun: "",
    title: "A header condition",
    meaning: "What a line of that name must satisfy. Exactly one key.",
    keys: &[
        key(
            "exact",
            Text("a value"),
            Otherwise("another key"),
            "\"websocket\"",
            "The line has exactly this value.",
        ),
        key(
            "contains",
            Text("a part of the value"),
            Otherwise("another key"),
            "\"beta=1\"",
            "The line's value contains this.",
        ),
        key("present", Flag, Otherwise("another key"), "true", "Whether a line is there."),
    ],
};

pub(crate) static REDIRECT: Section = Section {
    noun: "",
    title: "[route.redirect]",
    meaning: "A redirect.",
    keys: &[
        key(
            "to",
            Text("a location"),
            Required,
            "\"https://{host}{uri}\"",
            "The Location; may hold the variables of header values.",
        ),
        key("status", Integer { min: 301, max: 308 }, Default("308"), "302", "301, 302, 303, 307 or 308."),
    ],
};

pub(crate) static RESPOND: Section = Section {
    noun: "",
    title: "[route.respond]",
    meaning: "A fixed response.",
    keys: &[
        key("status", Integer { min: 200, max: 599 }, Default("200"), "403", "The status."),
        key(
            "content-type",
            Text("a media type"),
            Default("\"text/plain; charset=utf-8\""),
            "\"text/html\"",
            "Content-Type, if there is a body.",
        ),
        key("body", Text("the body"), Default("\"\""), "\"No.\"", "The body."),
    ],
};

pub(crate) static REWRITE: Section = Section {
    noun: "",
    title: "[route.rewrite]",
    meaning: "Changes the path: `prefix` with `to`, or `path`.",
    keys: &[
        key("prefix", Text("a path"), Otherwise("`path`"), "\"/api\"", "What the path begins with."),
        key("to", Text("a path"), Otherwise("`path`"), "\"/v1\"", "What it begins with afterwards."),
        key(
            "path",
            Text("a path"),
            Otherwise("`prefix` and `to`"),
            "\"/maintenance\"",
            "The whole new path; the query stays.",
        ),
    ],
};

pub(crate) static HEADER_CHANGES: Section = Section {
    noun: "",
    title: "[route.request-headers], [route.response-headers]",
    meaning: "Changes to headers: first `remove`, then `set`, then `add`. Values may hold variables: {client_ip}, \
              {client_port}, {host}, {path}, {query}, {uri} (path and query), {method}, {scheme}, {listener}, {route}, \
              {pool}, {server} (of responses), {request_id}, {tls_version}, {tls_cipher}, {tls_sni}, {tls_client_subject}; `{{` and `}}` \
              stand for braces. Headers that belong to the connection or say where a message ends cannot be changed.",
    keys: &[
        key(
            "remove",
            OneOrMany(&Text("a header name")),
            Otherwise("none"),
            "[\"Server\", \"X-Powered-By\"]",
            "Removes every line of these names. In requests also under the spellings that CGI programs take for them: `X_Role` and `X.Role` for `X-Role`.",
        ),
        key(
            "set",
            HEADER_TEXTS,
            Otherwise("none"),
            "{ X-Client = \"{client_ip}\" }",
            "Replaces every line of that name, spelled as for `remove`, by one.",
        ),
        key(
            "add",
            Map("header names", &OneOrMany(&Text("a header value"))),
            Otherwise("none"),
            "{ Link = [\"</a>\", \"</b>\"] }",
            "Adds lines.",
        ),
    ],
};
