//! Keys of `[pool.NAME.redirect]`: redirects of clients to the servers of a pool.

use crate::schema::Kind::{Duration, Map, OneOrMany, Text};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{DAY_MS, Section, key};

pub(crate) static REDIRECT: Section = Section {
    noun: "",
    title: "[pool.NAME.redirect]",
    meaning: "A request is answered 307 with the URL of the server that the pool's algorithm chooses, and a ticket in its query \
              (`weir_ticket`) that is good for this method, this path and this client address for a short time. The ticket \
              carries what the client has presented in `Authorization`, sealed: a storage area that knows the secret \
              (`redirect-key-file`) judges that by its own rules. One of `key-file` and `key-env` must be there.",
    keys: &[
        key(
            "methods",
            OneOrMany(&Text("a method")),
            Default("[\"GET\", \"PUT\"]"),
            "\"GET\"",
            "Requests with these methods are answered so; others are passed on to the servers.",
        ),
        key(
            "nodes",
            Map("names of servers", &Text("`https://host` or `https://host:port`")),
            Required,
            "{ n1 = \"https://n1.example.org:8443\" }",
            "Where clients reach each server. Requests for a server that is not in here are passed on to it.",
        ),
        key(
            "key-file",
            Text("a path"),
            Otherwise("`key-env`"),
            "\"/etc/weir/redirect.key\"",
            "A file with the secret that tickets are made with, at least 16 bytes; a line break at its end does not count. The \
             nodes have the same. Read again at a reload.",
        ),
        key(
            "key-env",
            Text("the name of an environment variable"),
            Otherwise("`key-file`"),
            "\"WEIR_REDIRECT_KEY\"",
            "As `key-file`, but the secret is in the environment.",
        ),
        key(
            "lifetime",
            Duration { min_ms: 1_000, max_ms: DAY_MS },
            Default("\"60s\""),
            "\"10s\"",
            "For how long a ticket counts; what has begun by then goes on.",
        ),
    ],
};
