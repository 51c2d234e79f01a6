//! Keys of `[pool.NAME]`, its servers and checks.

use super::balance::keys::{ALGORITHM_NAMES, BALANCE};
use super::failures::{BREAKER, EJECT, HEDGE, RETRY};
use super::limits::keys::{CONCURRENCY, QUEUE};
use super::offload::keys::OFFLOAD;
use super::redirect::keys::REDIRECT;
use super::spread::keys::{AGENT, AUTO_WEIGHT, SLOW_START, SUBSET, ZONE};
use super::sticky::keys::STICKY;
use crate::common::keys::HEADER_TEXTS;
use crate::schema::Kind::{
    AnyOf, Choice, Duration, Flag, Integer, Off, On, OneOrMany, Percent, Size, Table, Text,
};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{COUNT, DAY_MS, DURATION, DURATION_OR_ZERO, Kind, Section, key};
use crate::tls::keys::TLS_OUT;

pub(crate) static POOL: Section = Section {
    noun: "pool",
    title: "[pool.NAME]",
    meaning: "Servers that can answer, and how to choose.",
    keys: &[
        key(
            "balance",
            AnyOf(&[Choice(&ALGORITHM_NAMES), Table(&BALANCE)]),
            Default("\"least-connections\""),
            "\"round-robin\"",
            "How a server is chosen; `weir algorithms` explains each.",
        ),
        key(
            "servers",
            OneOrMany(&AnyOf(&[Text("the address of a server"), Table(&SERVER)])),
            Otherwise("none: they are added at runtime"),
            "[\"10.0.0.1:80\", { address = \"web.example:80\", weight = 2 }]",
            "Its servers: `address:port`, `name:port` (resolved; each of several addresses is a server of its own) or `unix:/path`, or a table.",
        ),
        key(
            "max-connections",
            COUNT,
            Otherwise("no limit"),
            "2000",
            "Requests (TCP: connections) at once, to all of its servers together. More wait in the queue.",
        ),
        key(
            "queue",
            Table(&QUEUE),
            Otherwise("every key has its default"),
            "{ max-length = 500, fair = \"client\" }",
            "Who may wait for a server, and in what order. How long is `timeouts.queue`.",
        ),
        key(
            "concurrency",
            AnyOf(&[Table(&CONCURRENCY), Off]),
            Default("false"),
            "{ algorithm = \"gradient\", max = 200 }",
            "A limit for each server that follows its latency, besides `max-connections`; `{}` = with the defaults. HTTP \
             only.",
        ),
        key(
            "lenient",
            OneOrMany(&Choice(&["bare-lf", "duplicate-content-length", "control-characters"])),
            Otherwise("such responses become a 502"),
            "[\"bare-lf\", \"duplicate-content-length\"]",
            "Faults in the heads of its servers' responses that are mended, for clients and health checks alike: lines that end in LF alone, \
             a Content-Length that is repeated with the same value, control characters in values (they become spaces). HTTP only.",
        ),
        key(
            "offload",
            Table(&OFFLOAD),
            Otherwise("servers can name no files"),
            "{ location = { prefix = \"/internal\", root = \"/srv/data\" } }",
            "Files that servers may have sent by naming them. HTTP only.",
        ),
        key(
            "check",
            AnyOf(&[Text("`METHOD /path`, `tcp` or `tls`"), Table(&CHECK), Off]),
            Otherwise("servers count as up"),
            "\"GET /health\"",
            "Active checks.",
        ),
        key(
            "eject",
            AnyOf(&[Table(&EJECT), Off]),
            Otherwise("every key has its default"),
            "{ failures = 3 }",
            "Ejection of servers that fail with real traffic; `false` = off.",
        ),
        key(
            "sticky",
            AnyOf(&[Table(&STICKY), Off]),
            Default("false"),
            "{ cookie = \"SRV\" }",
            "Keeps a client with the server it has begun with; `false` = each request is balanced by itself.",
        ),
        key(
            "agent",
            AnyOf(&[Table(&AGENT), Off]),
            Default("false"),
            "{ port = 9999 }",
            "A program beside each server that says how it is.",
        ),
        key(
            "slow-start",
            AnyOf(&[Duration { min_ms: 100, max_ms: DAY_MS }, Table(&SLOW_START), Off]),
            Default("false"),
            "\"30s\"",
            "How long the weight of a server takes to rise that has come up, and its `max-connections` with it.",
        ),
        key(
            "redirect",
            AnyOf(&[Table(&REDIRECT), Off]),
            Default("false"),
            "{ key-file = \"/etc/weir/redirect.key\", nodes = { n1 = \"https://n1.example.org\" } }",
            "Sends clients on to the servers themselves, so that bodies do not pass through here. HTTP only.",
        ),
        key(
            "auto-weight",
            Table(&AUTO_WEIGHT),
            Otherwise("every key has its default"),
            "{ interval = \"10s\" }",
            "How weights are found, for servers with `weight = \"auto\"`.",
        ),
        key(
            "min-healthy",
            Percent { min: 0, max: 100 },
            Default("\"0%\""),
            "\"50%\"",
            "Servers of the next `priority` take part as soon as less than this share of the weight is up; 0% = only when nobody is.",
        ),
        key(
            "zone",
            AnyOf(&[Text("the name of a zone"), Table(&ZONE), Off]),
            Otherwise("the `zone` of `[weir]`"),
            "\"a\"",
            "The zone that this Weir is in: its servers are preferred; `false` = zones do not count.",
        ),
        key(
            "subset",
            AnyOf(&[Table(&SUBSET), Off]),
            Default("false"),
            "{ size = 20, instance = 3, instances = 10 }",
            "Only a part of the servers, for one of several Weirs.",
        ),
        key(
            "breaker",
            AnyOf(&[Table(&BREAKER), Off]),
            Default("false"),
            "{ errors = \"50%\", open = \"5s\" }",
            "Answers 503 at once while too many of the pool's requests fail; `{}` = with the defaults.",
        ),
        key("tls", AnyOf(&[Flag, Table(&TLS_OUT)]), Default("false"), "true", "TLS towards the servers."),
        key(
            "proxy-protocol",
            AnyOf(&[Choice(&["v1", "v2"]), Off]),
            Default("false"),
            "\"v2\"",
            "A PROXY header towards the servers.",
        ),
        key(
            "timeouts",
            Table(&POOL_TIMEOUTS),
            Otherwise("every key has its default"),
            "{ connect = \"1s\" }",
            "How long servers may take.",
        ),
        key(
            "retry",
            AnyOf(&[Table(&RETRY), Off]),
            Otherwise("every key has its default"),
            "{ attempts = 1 }",
            "When a request is tried again; `false` = never.",
        ),
        key(
            "hedge",
            AnyOf(&[Table(&HEDGE), Off]),
            Default("false"),
            "{ delay = \"50ms\" }",
            "A second try at another server beside a slow first one; `{}` = with the defaults. HTTP only.",
        ),
        key(
            "reuse",
            AnyOf(&[Table(&REUSE), Off]),
            Otherwise("every key has its default"),
            "{ idle = 16 }",
            "How connections are kept for further requests; `false` = one connection for each request.",
        ),
        key(
            "buffer-requests",
            AnyOf(&[Size { min: 1 << 10, max: 1 << 20 }, Off]),
            Otherwise(
                "`\"16KiB\"` where `max-connections` (of the pool or a server), `concurrency` or `agent` limits requests, else `false`",
            ),
            "\"64KiB\"",
            "HTTP only: a request with a Content-Length up to this is read whole before a server is chosen, so that a client that sends \
             slowly keeps no server busy; `false` = no body is waited for.",
        ),
        key(
            "when-empty",
            Table(&WHEN_EMPTY),
            Otherwise("every key has its default"),
            "{ retry-after = \"30s\" }",
            "What clients get when no server can be used.",
        ),
    ],
};

pub(crate) static SERVER: Section = Section {
    noun: "server",
    title: "A server of a pool",
    meaning: "One of `servers`, where an address alone does not suffice.",
    keys: &[
        key(
            "address",
            Text("the address of a server"),
            Required,
            "\"10.0.0.1:80\"",
            "Where it listens: `address:port`, `name:port` (resolved; each of several addresses is a server of its own, `NAME_ADDRESS`, with these keys) or `unix:/path`.",
        ),
        key("name", Text("a name"), Otherwise("its address"), "\"web-1\"", "Its name, unique in the pool."),
        key(
            "weight",
            AnyOf(&[Integer { min: 0, max: weir_model::Weight::MAX.get() as u64 }, Choice(&["auto"])]),
            Default("1"),
            "2",
            "Its share; 0 = gets nothing new; `\"auto\"` = from its speed, which is measured (`auto-weight` of the pool): 16 = average.",
        ),
        key(
            "processor",
            Percent { min: 1, max: 10_000 },
            Otherwise("measured"),
            "\"150%\"",
            "With `weight = \"auto\"`: how fast it is at requests that make it compute, in relation to an average server.",
        ),
        key(
            "storage",
            Percent { min: 1, max: 10_000 },
            Otherwise("measured"),
            "\"80%\"",
            "With `weight = \"auto\"`: how fast it is at requests that make it fetch a file, in relation to an average server.",
        ),
        key(
            "backup",
            Flag,
            Default("false"),
            "true",
            "Gets requests only when no other server can: the others are down, drained or ejected, or have all failed the request.",
        ),
        key(
            "priority",
            Integer { min: 0, max: 65_535 },
            Default("0"),
            "1",
            "Gets requests only when no server of a lower number can, or all of these have failed the request; `backup` comes after all numbers.",
        ),
        key(
            "zone",
            Text("the name of a zone"),
            Otherwise("none: it is near to nobody"),
            "\"a\"",
            "Where it is.",
        ),
        key(
            "agent-port",
            Integer { min: 1, max: 65_535 },
            Otherwise("the `port` of the pool's `agent`"),
            "9998",
            "Where its agent listens.",
        ),
        key(
            "max-connections",
            COUNT,
            Otherwise("no limit"),
            "100",
            "Requests (TCP: connections) at once. More wait in the queue, then go to others or are answered 503.",
        ),
    ],
};

pub(crate) static CHECK: Section = Section {
    noun: "",
    title: "[pool.NAME.check]",
    meaning: "Active checks. Exactly one of `http`, `tcp` and `tls`.",
    keys: &[
        key(
            "http",
            Text("`METHOD /path`"),
            Otherwise("`tcp` or `tls`"),
            "\"GET /health\"",
            "Sends a request, over TLS if the pool uses it.",
        ),
        key("tcp", On, Otherwise("`http` or `tls`"), "true", "Connects."),
        key(
            "tls",
            On,
            Otherwise("`http` or `tcp`"),
            "true",
            "Connects and ends a TLS handshake, by the pool's TLS rules.",
        ),
        key(
            "interval",
            DURATION,
            Default("\"2s\""),
            "\"5s\"",
            "Between the end of one check and the start of the next.",
        ),
        key(
            "fast-interval",
            DURATION,
            Otherwise("1s, or `interval` if that is shorter"),
            "\"500ms\"",
            "Instead of `interval` while the state is about to change.",
        ),
        key(
            "jitter",
            Percent { min: 0, max: 50 },
            Default("\"10%\""),
            "\"25%\"",
            "Each wait is varied by up to this share of itself, so that checks do not march in step.",
        ),
        key("timeout", DURATION, Default("\"2s\""), "\"1s\"", "The whole check, connect and TLS included."),
        key("rise", TIMES, Default("2"), "1", "Successes in a row that bring a server up."),
        key("fall", TIMES, Default("3"), "2", "Failures in a row that take it down."),
        key(
            "initial",
            Choice(&["up", "down"]),
            Default("\"up\""),
            "\"down\"",
            "What a server is before its first check: up (one failure takes it down) or down (one success brings it up). One that a fleet adds is down.",
        ),
        key(
            "port",
            Integer { min: 1, max: 65_535 },
            Otherwise("the server's port"),
            "8081",
            "The port that is checked.",
        ),
        key(
            "host",
            Text("a host name, with or without a port"),
            Otherwise("the server's address"),
            "\"web.internal\"",
            "HTTP only: the Host header.",
        ),
        key(
            "headers",
            HEADER_TEXTS,
            Otherwise("none"),
            "{ Authorization = \"Bearer ${TOKEN}\" }",
            "HTTP only: further headers.",
        ),
        key(
            "expect",
            Table(&EXPECT),
            Otherwise("a status of 200 to 399"),
            "{ status = 200, body = \"ok\" }",
            "HTTP only: what a healthy answer is like.",
        ),
    ],
};

const TIMES: Kind = Integer { min: 1, max: 1_000 };

pub(crate) static EXPECT: Section = Section {
    noun: "",
    title: "[pool.NAME.check.expect]",
    meaning: "What a healthy answer is like; all that is written must hold.",
    keys: &[
        key(
            "status",
            OneOrMany(&AnyOf(&[Integer { min: 100, max: 599 }, Text("a range such as `200-299`")])),
            Default("\"200-399\""),
            "[200, \"300-399\"]",
            "Accepted statuses.",
        ),
        key(
            "header",
            Text("`Name: part of the value`"),
            Otherwise("any"),
            "\"X-Ready: yes\"",
            "A header that must be there, and what its value must contain.",
        ),
        key(
            "body",
            Text("a part of the body"),
            Otherwise("any"),
            "\"ok\"",
            "What the first 64 KiB of the body must contain.",
        ),
    ],
};

pub(crate) static POOL_TIMEOUTS: Section = Section {
    noun: "",
    title: "[pool.NAME.timeouts]",
    meaning: "How long servers may take.",
    keys: &[
        key("connect", DURATION, Default("\"3s\""), "\"1s\"", "To connect, TLS handshake included."),
        key(
            "response",
            DURATION,
            Default("\"60s\""),
            "\"10s\"",
            "From the last byte of the request to the first of the response head. Over it: 504.",
        ),
        key("idle", DURATION, Default("\"60s\""), "\"20s\"", "No byte of a body in either direction."),
        key(
            "queue",
            DURATION_OR_ZERO,
            Default("\"1s\""),
            "\"0s\"",
            "To wait for a free server when all are at their `max-connections`, over all tries of a request; 0 = answered 503 at once.",
        ),
    ],
};

pub(crate) static REUSE: Section = Section {
    noun: "",
    title: "[pool.NAME.reuse]",
    meaning: "How connections to servers are kept for further requests.",
    keys: &[
        key(
            "idle",
            Integer { min: 0, max: 65_536 },
            Default("64"),
            "16",
            "Idle connections for each server and worker; 0 = one connection for each request.",
        ),
        key(
            "idle-timeout",
            DURATION,
            Default("\"30s\""),
            "\"4s\"",
            "An idle connection is closed after this long. Keep it below the keep-alive timeout of the servers.",
        ),
        key(
            "max-age",
            DURATION,
            Default("\"1h\""),
            "\"5m\"",
            "A connection is not used again when it is older than this.",
        ),
        key("max-requests", COUNT, Otherwise("no limit"), "1000", "Requests over one connection."),
    ],
};

pub(crate) static WHEN_EMPTY: Section = Section {
    noun: "",
    title: "[pool.NAME.when-empty]",
    meaning: "What clients get when no server of the pool can be used.",
    keys: &[
        key(
            "retry-after",
            DURATION_OR_ZERO,
            Default("\"10s\""),
            "\"1m\"",
            "The Retry-After header, in whole seconds; 0 = none.",
        ),
        key(
            "respond",
            Table(&RESPOND_WHEN_EMPTY),
            Otherwise("the error page of 503"),
            "{ body = \"Back soon.\" }",
            "A response instead of the error page.",
        ),
    ],
};

pub(crate) static RESPOND_WHEN_EMPTY: Section = Section {
    noun: "",
    title: "[pool.NAME.when-empty.respond]",
    meaning: "A fixed response for the time when no server can be used.",
    keys: &[
        key("status", Integer { min: 200, max: 599 }, Default("503"), "200", "The status."),
        key(
            "content-type",
            Text("a media type"),
            Default("\"text/html; charset=utf-8\""),
            "\"text/plain\"",
            "Content-Type, if there is a body.",
        ),
        key("body", Text("the body"), Default("\"\""), "\"Back soon.\"", "The body."),
    ],
};
