//! Keys of the balancers to compare.

use super::kinds::{PER_S, SERVERS_COUNT, TIME, TIME_OR_ZERO, key};
use crate::pool::balance::keys::{ALGORITHM_NAMES, BALANCE};
use crate::schema::Kind::{Choice, Table, Text};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{Kind, Section};

pub(super) const PRODUCTS: Kind = Choice(&[
    "none", "weir", "haproxy", "nginx", "apache", "envoy", "caddy", "traefik", "pound", "sozu", "lvs",
    "nftables",
]);

pub(super) static RIVAL: Section = Section {
    noun: "rival",
    title: "A rival",
    meaning: "A balancer with a name or a program of its own.",
    keys: &[
        key("product", PRODUCTS, Required, "\"haproxy\"", "What it is: whose configuration is made."),
        key("name", Text("a name"), Otherwise("the product's"), "\"haproxy-3.4\"", "What reports call it."),
        key(
            "program",
            Text("a path"),
            Otherwise("the product's, found in PATH and the usual directories"),
            "\"/opt/haproxy/haproxy\"",
            "Its program.",
        ),
        key(
            "way",
            Choice(&["proxied", "offloaded", "redirected", "dns"]),
            Default("\"proxied\""),
            "\"offloaded\"",
            "How what is asked for comes to clients. `offloaded`: servers name files (`X-Accel-Redirect`), and the balancer sends them; \
             `weir` and `nginx` can. `redirected`: clients are sent on to a server (307); `weir` can. `dns`: there is no balancer, and \
             clients ask all servers in turn; `none` can. Both others need servers of kind `storage`.",
        ),
        key(
            "fleet",
            Table(&FLEET),
            Otherwise("it has the servers of `[servers]`, all of the time"),
            "{ max = 13, capacity = 100 }",
            "Its servers come and go with demand; `weir` can.",
        ),
        key(
            "scheduler",
            Choice(&["rr", "wrr", "lc", "wlc", "fo", "ovf", "lblc", "lblcr", "dh", "sh", "sed", "nq", "mh"]),
            Otherwise("the one of the same meaning as `algorithms`"),
            "\"lblc\"",
            "Of `lvs`: its scheduler, as ipvsadm calls it, whatever `algorithms` says. Those that go by the destination (`lblc`, `lblcr`, `dh`) have one \
             here, and keep to one server; shares are not checked.",
        ),
        key(
            "balance",
            Kind::AnyOf(&[Choice(&ALGORITHM_NAMES), Table(&BALANCE)]),
            Otherwise("the one of the same meaning as `algorithms`"),
            "{ algorithm = \"lblc\", key = \"uri\" }",
            "Of `weir`: any of its algorithms with any of their options, as in [[pool.NAME]](config.md#poolname), whatever `algorithms` says; shares are not checked.",
        ),
    ],
};

static FLEET: Section = Section {
    noun: "",
    title: "fleet of a rival",
    meaning: "Servers that the balancer starts and stops as demand has it: Weir's test server with the `delay` and the `concurrency` of `[servers]`.",
    keys: &[
        key("min", SERVERS_COUNT, Default("2"), "1", "Never fewer."),
        key("max", SERVERS_COUNT, Required, "13", "Never more."),
        key("capacity", PER_S, Required, "100", "Requests a second that one can do."),
        key(
            "policy",
            Choice(&["reactive", "target"]),
            Default("\"target\""),
            "\"reactive\"",
            "How demand becomes a number of servers: `reactive` is the published rule, `target` what Weir does by itself.",
        ),
        key(
            "minute",
            TIME,
            Default("\"1m\""),
            "\"1500ms\"",
            "What is a minute elsewhere, for a pattern that is compressed in time: the times of the policy are so much shorter.",
        ),
        key(
            "boot",
            TIME_OR_ZERO,
            Default("\"0ms\""),
            "\"1500ms\"",
            "How long a server takes until it can be asked.",
        ),
    ],
};
