//! Keys of `[fleet.NAME.haproxy]`.

use crate::schema::Kind::{OneOrMany, Table, Text};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{DURATION, Section, key};

pub(crate) static HAPROXY: Section = Section {
    noun: "",
    title: "[fleet.NAME.haproxy]",
    meaning: "A HAProxy, over its runtime socket. Servers are added to a backend and taken away again; others of the backend are \
              left alone. Version 2.5 or newer is told so over the socket, and after a reload of HAProxy they are added anew; an older one is reloaded \
              with a configuration that Weir makes of a `template`.",
    keys: &[
        key(
            "socket",
            Text("an absolute path"),
            Required,
            "\"/run/haproxy/admin.sock\"",
            "Its runtime socket (`stats socket ... level admin`).",
        ),
        key(
            "backend",
            Text("the name of a backend"),
            Required,
            "\"web\"",
            "The backend. Without a template its algorithm has to be one that servers can be added to, such as leastconn or roundrobin.",
        ),
        key(
            "server",
            Text("options of a server"),
            Default("\"check inter 1s rise 2 fall 3\""),
            "\"check inter 500ms slowstart 10s\"",
            "What a server is added with, as in HAProxy's `server` lines. There has to be a `check`: a server gets requests when it passes.",
        ),
        key(
            "template",
            Table(&TEMPLATE),
            Otherwise("servers are added over the socket"),
            "{ file = \"/etc/haproxy/haproxy.cfg.in\", config = \"/etc/haproxy/haproxy.cfg\" }",
            "HAProxy is older than 2.5: its configuration is made of a template, and it is reloaded when servers come and go.",
        ),
    ],
};

static TEMPLATE: Section = Section {
    noun: "",
    title: "[fleet.NAME.haproxy.template]",
    meaning: "HAProxy's configuration, made of a template, for versions that servers cannot be added to: 1.8 to 2.4, and every newer one. \
              [How it is written](../guide/fleets.md#with-an-older-haproxy). Nothing is reloaded that HAProxy has not found valid.",
    keys: &[
        key(
            "file",
            Text("an absolute path"),
            Required,
            "\"/etc/haproxy/haproxy.cfg.in\"",
            "The template. When it changes, HAProxy is reloaded.",
        ),
        key(
            "config",
            Text("an absolute path"),
            Required,
            "\"/etc/haproxy/haproxy.cfg\"",
            "The configuration that is made of it, and that HAProxy reads. No other fleet may have it.",
        ),
        key(
            "validate",
            OneOrMany(&Text("a program or an argument")),
            Default("[\"haproxy\", \"-c\", \"-f\", \"{file}\"]"),
            "[\"/opt/haproxy/haproxy\", \"-c\", \"-f\", \"{file}\"]",
            "The command that says by its status whether a configuration is valid; `{file}` stands for it.",
        ),
        key(
            "reload",
            OneOrMany(&Text("a program or an argument")),
            Default("[\"systemctl\", \"reload\", \"haproxy\"]"),
            "[\"haproxy\", \"-D\", \"-f\", \"{config}\", \"-sf\", \"{pid}\"]",
            "The command that makes HAProxy read its configuration again. `{config}` stands for it, `{pid}` for the process that answers at the socket.",
        ),
        key(
            "timeout",
            DURATION,
            Default("\"30s\""),
            "\"2m\"",
            "A command that takes longer is cut off; a new process that answers later at the socket has failed to come.",
        ),
    ],
};
