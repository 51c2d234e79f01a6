//! Keys of `[pool.NAME.sticky]`.

use crate::schema::Kind::{AnyOf, Choice, Duration, Flag, Integer, On, Table, Text};
use crate::schema::Presence::{Default, Otherwise};
use crate::schema::{DAY_MS, Kind, SECOND_MS, Section, key};

/// A time for which a browser may keep something: at most a year.
const KEPT: Kind = Duration { min_ms: SECOND_MS, max_ms: 365 * DAY_MS };

pub(crate) static STICKY: Section = Section {
    noun: "",
    title: "[pool.NAME.sticky]",
    meaning: "Keeps a client with the server it has begun with. Exactly one of `cookie`, `learn`, `source` and \
              `expression`; pools of TCP listeners can only have `source`. See docs/guide/sticky-sessions.md.",
    keys: &[
        key(
            "cookie",
            Text("the name of a cookie"),
            Otherwise("`learn`, `source` or `expression`"),
            "\"SRV\"",
            "A cookie of this name says which server a client has.",
        ),
        key(
            "mode",
            Choice(&["insert", "prefix", "rewrite"]),
            Default("\"insert\""),
            "\"prefix\"",
            "With `cookie`: `insert` = the cookie is Weir's own, and servers never see it; `prefix` = Weir's value and `~` \
             stand before the value of the server's own cookie, and servers see only theirs; `rewrite` = Weir's value \
             takes the place of the server's.",
        ),
        key(
            "value",
            Choice(&["opaque", "plain", "signed", "encrypted"]),
            Default("\"opaque\""),
            "\"signed\"",
            "With `cookie`: how it names the server. `opaque` = an id worked out from name and key; `plain` = the server's \
             name; `signed` = the id with a signature over it and its times; `encrypted` = nothing can be read, not even \
             whether two clients share a server.",
        ),
        key(
            "key-file",
            Text("a path"),
            Otherwise("no secret: whoever guesses a server's name can confirm the guess by its id"),
            "\"/etc/weir/sticky.key\"",
            "With `cookie`: a file with the secret that ids, signatures and encryption are made with, at least 16 bytes; a \
             line break at its end does not count. Weirs with the same secret and pool name understand each other's \
             cookies. `signed` and `encrypted` need one. Read again at a reload.",
        ),
        key(
            "key-env",
            Text("the name of an environment variable"),
            Otherwise("as `key-file`"),
            "\"WEIR_STICKY_KEY\"",
            "As `key-file`, but the secret is in the environment.",
        ),
        key(
            "path",
            Text("a path"),
            Default("\"/\""),
            "\"/app\"",
            "With `insert`: below which path the cookie is sent.",
        ),
        key(
            "domain",
            Text("a domain"),
            Otherwise("only to the host that set it"),
            "\"example.org\"",
            "With `insert`: to which domain, and those below it, the cookie is sent.",
        ),
        key(
            "max-age",
            KEPT,
            Otherwise("until the browser is closed"),
            "\"8h\"",
            "With `insert`: how long the browser keeps the cookie.",
        ),
        key(
            "http-only",
            Flag,
            Default("true"),
            "false",
            "With `insert`: whether the cookie is hidden from scripts.",
        ),
        key(
            "secure",
            Flag,
            Otherwise("if the client came over TLS"),
            "true",
            "With `insert`: whether the cookie is only sent over TLS.",
        ),
        key(
            "same-site",
            Choice(&["strict", "lax", "none"]),
            Otherwise("the browser decides"),
            "\"lax\"",
            "With `insert`: whether requests that other sites cause carry the cookie; `none` needs `secure = true`.",
        ),
        key(
            "no-cache",
            Flag,
            Default("true"),
            "false",
            "With `insert`: a response that sets the cookie says `Cache-Control: private`, unless it already says this or \
             `no-store`: a shared cache would hand one client's server to all.",
        ),
        key(
            "max-idle",
            KEPT,
            Otherwise("no limit"),
            "\"30m\"",
            "With `insert`: a cookie that was not used for this long no longer counts. It is renewed as it is used.",
        ),
        key(
            "max-life",
            KEPT,
            Otherwise("no limit"),
            "\"8h\"",
            "With `insert`: a cookie that was first set this long ago no longer counts.",
        ),
        key(
            "learn",
            Table(&LEARN),
            Otherwise("`cookie`, `source` or `expression`"),
            "{ response-cookie = \"JSESSIONID\" }",
            "Remembers which server has given out which session.",
        ),
        key(
            "source",
            AnyOf(&[On, Table(&SOURCE)]),
            Otherwise("`cookie`, `learn` or `expression`"),
            "{ ipv6-prefix = 64 }",
            "Remembers which server a client's address has.",
        ),
        key(
            "expression",
            Text("a CEL expression"),
            Otherwise("`cookie`, `learn` or `source`"),
            "\"headers['x-user']\"",
            "Remembers which server a value has that is worked out of the request: a text, bytes, a number or a bool; \
             other types are errors of the config. \
             Variables as in a route's `when`. A request that has none (a missing header, an empty text) is not sticky.",
        ),
        key(
            "size",
            Integer { min: 1, max: 10_000_000 },
            Default("100000"),
            "1000000",
            "With `learn`, `source` and `expression`: how many are remembered, at about 100 bytes each; the one that was \
             not seen for longest makes room.",
        ),
        key(
            "expire",
            Duration { min_ms: SECOND_MS, max_ms: 30 * DAY_MS },
            Default("\"30m\""),
            "\"8h\"",
            "With `learn`, `source` and `expression`: what was not seen for this long is forgotten.",
        ),
        key(
            "when-gone",
            Choice(&["redispatch", "fail"]),
            Default("\"redispatch\""),
            "\"fail\"",
            "When a client's server is down, ejected or in maintenance, or has failed the request: another one is chosen, and \
             the client stays with that; or the request is answered 503.",
        ),
        key(
            "when-busy",
            Choice(&["wait", "redispatch"]),
            Default("\"wait\""),
            "\"redispatch\"",
            "When a client's server is at its `max-connections`: the request waits for it, up to `timeouts.queue`; or \
             another one is chosen, and the client stays with that.",
        ),
    ],
};

pub(crate) static LEARN: Section = Section {
    noun: "",
    title: "[pool.NAME.sticky.learn]",
    meaning: "Where a server's response gives out a session (one of `response-cookie` and `response-header`), and where \
              later requests carry it; the first that is found in the order of this table counts.",
    keys: &[
        key(
            "response-cookie",
            Text("the name of a cookie"),
            Otherwise("`response-header`"),
            "\"JSESSIONID\"",
            "A cookie that the server sets.",
        ),
        key(
            "response-header",
            Text("a header name"),
            Otherwise("`response-cookie`"),
            "\"X-Session\"",
            "A header of the response.",
        ),
        key(
            "request-cookie",
            Text("the name of a cookie"),
            Otherwise("`response-cookie`, unless one of the others is written"),
            "\"JSESSIONID\"",
            "A cookie of the request.",
        ),
        key(
            "request-header",
            Text("a header name"),
            Otherwise("`response-header`, unless one of the others is written"),
            "\"X-Session\"",
            "A header of the request.",
        ),
        key(
            "url-param",
            Text("the name of a parameter"),
            Otherwise("the URL is not looked at"),
            "\"jsessionid\"",
            "A parameter of the query (`?jsessionid=`) or of the path (`;jsessionid=`).",
        ),
    ],
};

pub(crate) static SOURCE: Section = Section {
    noun: "",
    title: "[pool.NAME.sticky.source]",
    meaning: "Which clients count as one. `source = true` takes every default.",
    keys: &[
        key(
            "ipv4-prefix",
            Integer { min: 1, max: 32 },
            Default("32"),
            "24",
            "Clients whose IPv4 addresses agree in so many bits count as one.",
        ),
        key(
            "ipv6-prefix",
            Integer { min: 1, max: 128 },
            Default("128"),
            "64",
            "The like for IPv6. A household usually has a network of 64 bits, and its devices change their addresses.",
        ),
    ],
};
