//! Keys of `[fleet.NAME.lease]`.

use crate::schema::Kind::{AnyOf, Duration, Flag, OneOrMany, Table, Text};
use crate::schema::Presence::{Default, Otherwise};
use crate::schema::{MINUTE_MS, SECOND_MS, Section, key};
use crate::tls::keys::TLS_OUT;

pub(crate) static LEASE: Section = Section {
    noun: "",
    title: "[fleet.NAME.lease]",
    meaning: "The lease is a key in a Redis or an etcd: of all Weirs that have it in their config, on whatever machines, one leads the fleet. Exactly one of \
              `redis` and `etcd`.",
    keys: &[
        key(
            "redis",
            Text("`host:port` or `unix:/path`"),
            Otherwise("`etcd`"),
            "\"10.0.0.5:6379\"",
            "A Redis, 5 or newer: one server, that evicts nothing (`maxmemory-policy noeviction`).",
        ),
        key(
            "etcd",
            OneOrMany(&Text("`host:port`")),
            Otherwise("`redis`"),
            "[\"10.0.0.6:2379\", \"10.0.0.7:2379\", \"10.0.0.8:2379\"]",
            "The members of an etcd cluster, 3.4 or newer, at their client addresses. The first that answers is asked.",
        ),
        key(
            "key",
            Text("a name"),
            Otherwise("`weir/fleet/NAME`"),
            "\"shop/web\"",
            "The key. A second one, with `/epoch` behind it, counts who has led.",
        ),
        key(
            "lasts",
            Duration { min_ms: 2 * SECOND_MS, max_ms: 10 * MINUTE_MS },
            Default("\"10s\""),
            "\"30s\"",
            "So long after its last word a leader that is gone is taken over from. It renews the lease four times in this time, and does nothing more when four fifths \
             of it have passed without an answer.",
        ),
        key("username", Text("a name"), Otherwise("none"), "\"weir\"", "Who Weir is there."),
        key(
            "password-file",
            Text("a path"),
            Otherwise("`password-env`, or no password"),
            "\"/etc/weir/lease.password\"",
            "A file with the password. It is read with each connection.",
        ),
        key(
            "password-env",
            Text("the name of an environment variable"),
            Otherwise("`password-file`, or no password"),
            "\"WEIR_LEASE_PASSWORD\"",
            "The environment variable with the password.",
        ),
        key(
            "tls",
            AnyOf(&[Flag, Table(&TLS_OUT)]),
            Default("false"),
            "{ ca = \"/etc/weir/ca.pem\" }",
            "TLS towards the store.",
        ),
    ],
};
