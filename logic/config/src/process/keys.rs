//! Keys of `[weir]`, `[admin]`, `[access-log]`, `[resolver]` and `[error-page.STATUS]`.

use crate::schema::Kind::{AnyOf, Choice, Flag, Integer, Off, OneOrMany, Size, Table, Text};
use crate::schema::Presence::{Default, Otherwise};
use crate::schema::{COUNT, DURATION, DURATION_OR_ZERO, Section, key};
use crate::tls::keys::TLS_IN;

pub(crate) static WEIR: Section = Section {
    noun: "",
    title: "[weir]",
    meaning: "The process as a whole. A change of `workers`, `max-connections`, `control`, `state`, `node`, `user`, `group`, `act-as-ids`, `sandbox` or `core-dumps` takes \
              effect after a restart; a reload says so.",
    keys: &[
        key(
            "workers",
            Integer { min: 1, max: 1024 },
            Otherwise("one for each core that the process may use"),
            "4",
            "Worker threads.",
        ),
        key(
            "control",
            AnyOf(&[Text("a path"), Off]),
            Default("\"/run/weir/control.sock\""),
            "\"/run/weir/control.sock\"",
            "The Unix socket of `weir ctl` and `weir top`; `false` = none.",
        ),
        key(
            "state",
            AnyOf(&[Text("a path"), Off]),
            Default("\"/var/lib/weir/state.toml\""),
            "\"/var/lib/weir/state.toml\"",
            "Where changes made at runtime are kept, so that they survive reload and restart; `false` = they last until \
             the process ends.",
        ),
        key(
            "user",
            Text("a user's name, or `UID:GID`"),
            Otherwise("the process stays who has started it"),
            "\"weir\"",
            "Started as root, Weir becomes this user once it has bound its addresses and read its keys, and keeps no right of root's but \
             to bind ports below 1024. What a reload reads, and what Weir writes, must be the user's. Areas with `act-as` go on: the \
             process is in a user namespace then, in which it can become the users of their maps and nobody else.",
        ),
        key(
            "group",
            Text("a group's name or number"),
            Otherwise("the user's own"),
            "\"www-data\"",
            "The group that the process gets with `user`. Further groups stay the user's.",
        ),
        key(
            "act-as-ids",
            OneOrMany(&Text("a number, or the first and the last of several")),
            Otherwise("none"),
            "\"20000-29999\"",
            "Numbers of users and groups, beside those of the maps at the start, that areas may act as with `user`: for maps that get others \
             while Weir runs. Without it a reload with another user is refused until a restart.",
        ),
        key(
            "sandbox",
            Flag,
            Otherwise("`true` with `user`, else `false`"),
            "true",
            "The process may write only below directories that the config names (state, control socket, access log, storage areas, fleets, \
             Unix sockets), as Landlock enforces it, and may not start programs, trace others, mount or load anything (seccomp). A \
             reload that needs another directory is refused until a restart. Not for fleets that start programs. What a kernel cannot do \
             is said at the start.",
        ),
        key(
            "core-dumps",
            Flag,
            Default("false"),
            "true",
            "The kernel may write the memory of the process to disk when it crashes. It has private keys and passwords in it.",
        ),
        key(
            "drain-timeout",
            DURATION_OR_ZERO,
            Default("\"30s\""),
            "\"2m\"",
            "How long requests and tunnels may take to end after SIGTERM.",
        ),
        key(
            "max-connections",
            COUNT,
            Otherwise("what the descriptor limit allows"),
            "50000",
            "Client connections of all listeners together. For one more, an idle one of the client that has most of them gives way, or else it is refused.",
        ),
        key(
            "max-memory",
            AnyOf(&[Size { min: 32 << 20, max: 1 << 50 }, Off]),
            Otherwise(
                "what the control group permits (a container, `MemoryMax` of systemd); no limit without one",
            ),
            "\"2GiB\"",
            "Above 90% of it, until less than 85% is in use, idle and stalled connections of clients give way, idle ones to servers are closed, \
             and new clients come in only where others give way. Of a control group its counts hold, if at least half is Weir's: socket buffers count, \
             cached files do not. Of a number the process's own memory counts. `false`: the kernel alone decides.",
        ),
        key(
            "zone",
            Text("the name of a zone"),
            Otherwise("none: zones do not count, but in pools with a `zone` of their own"),
            "\"a\"",
            "Where this Weir is: servers of the same zone are preferred.",
        ),
        key(
            "node",
            Text("1 to 64 letters, digits, dots, hyphens and underscores"),
            Otherwise("the host name"),
            "\"storage-1\"",
            "What this Weir is called among those that share a storage area's directory. No two of them may have the same name, \
             and it should stay: a start cleans up what earlier ones of its name have left.",
        ),
    ],
};

pub(crate) static ADMIN: Section = Section {
    noun: "",
    title: "[admin]",
    meaning: "Status page, metrics and JSON over HTTP. Without `allow` and `htpasswd` everyone who reaches these addresses can read \
              them. A change takes effect after a restart; a reload says so.",
    keys: &[
        key(
            "bind",
            OneOrMany(&Text("an address to bind")),
            Default("\"127.0.0.1:8404\""),
            "\"127.0.0.1:8404\"",
            "Where it listens: `address:port`, `:port` or `unix:/path`.",
        ),
        key(
            "allow",
            OneOrMany(&Text("a network or an IP address")),
            Otherwise("everyone who reaches an address"),
            "[\"127.0.0.1\", \"10.1.0.0/16\"]",
            "Clients that may connect. Connections from elsewhere are closed at once; those through a Unix socket never are.",
        ),
        key(
            "htpasswd",
            Text("a path"),
            Otherwise("nobody needs to log in"),
            "\"/etc/weir/admin.htpasswd\"",
            "Users and passwords, as `htpasswd -B` writes them. Everything but `/healthz` then needs one (Basic, RFC 7617).",
        ),
        key(
            "tls",
            Table(&TLS_IN),
            Otherwise("no TLS"),
            "{ certificates = \"/etc/weir/admin.pem\" }",
            "TLS, as a listener has it. With `client-auth` only clients with a certificate of that authority get in.",
        ),
        key(
            "hosts",
            OneOrMany(&Text("a host name, or `*.` and a domain")),
            Otherwise("`localhost`, the machine's host name and IP addresses"),
            "\"weir.example.org\"",
            "More names that requests may have in `Host`. Others are refused with 421, so that a page in an operator's browser cannot \
             read the face under a name of its own (DNS rebinding). With `tls` or `htpasswd` that cannot happen, and every name is \
             accepted.",
        ),
    ],
};

pub(crate) static ACCESS_LOG: Section = Section {
    noun: "",
    title: "[access-log]",
    meaning: "A line for each request (TCP: for each connection). Without this table nothing is logged.",
    keys: &[
        key(
            "format",
            Choice(&["common", "combined", "json", "httplog"]),
            Default("\"combined\""),
            "\"json\"",
            "NCSA common or combined, one JSON object a line, or HAProxy's httplog line.",
        ),
        key(
            "to",
            Text("`stdout`, an absolute path, `syslog:/dev/log` or `syslog:ADDRESS:PORT`"),
            Default("\"stdout\""),
            "\"/var/log/weir/access.log\"",
            "Standard output, a file (opened anew on SIGUSR1), or a syslog daemon on a Unix socket or over UDP.",
        ),
        key("facility", Choice(FACILITIES), Default("\"local0\""), "\"daemon\"", "The syslog facility."),
    ],
};

/// Facilities of RFC 5424 section 6.2.1, in the order of their numbers.
pub(crate) const FACILITIES: &[&str] = &[
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp",
    "ntp", "audit", "alert", "clock", "local0", "local1", "local2", "local3", "local4", "local5", "local6",
    "local7",
];

pub(crate) static RESOLVER: Section = Section {
    noun: "",
    title: "[resolver]",
    meaning: "How the names of servers are resolved. The last answer is kept while no new one can be had.",
    keys: &[
        key(
            "servers",
            OneOrMany(&Text("an IP address, with or without a port")),
            Otherwise("those of /etc/resolv.conf"),
            "[\"10.0.0.2\", \"10.0.0.3:5353\"]",
            "DNS servers; port 53 where none is written.",
        ),
        key("timeout", DURATION, Default("\"2s\""), "\"1s\"", "One query."),
        key(
            "min-ttl",
            DURATION,
            Default("\"5s\""),
            "\"1s\"",
            "An answer is used at least this long, whatever its TTL.",
        ),
        key(
            "max-ttl",
            DURATION,
            Default("\"5m\""),
            "\"1h\"",
            "An answer is asked for again after this long at the latest.",
        ),
        key(
            "hold-obsolete",
            DURATION_OR_ZERO,
            Default("\"10s\""),
            "\"1m\"",
            "Of a name with several addresses, an address that an answer lacks stays in use for this long, and then goes if the next answer lacks it, too; `\"0s\"`: at once. \
             HAProxy: `hold obsolete`.",
        ),
    ],
};

pub(crate) static ERROR_PAGE: Section = Section {
    noun: "error page",
    title: "[error-page.STATUS]",
    meaning: "The body of an error that Weir answers with itself, by a route's `respond` without a body, too: exactly one of `body` and `file`.",
    keys: &[
        key(
            "content-type",
            Text("a media type"),
            Default("\"text/html; charset=utf-8\""),
            "\"text/plain\"",
            "Its Content-Type.",
        ),
        key("body", Text("the body"), Otherwise("`file`"), "\"<h1>Back soon</h1>\"", "The body."),
        key(
            "file",
            Text("a path"),
            Otherwise("`body`"),
            "\"/etc/weir/503.html\"",
            "A file with the body, UTF-8, up to 1 MiB, or an errorfile of HAProxy, whose head is left out but for its Content-Type. Read when the config is.",
        ),
    ],
};
