//! Keys of the balancer.

use super::{COUNT, TIME, key};
use crate::pool::failures::{BREAKER_KEYS, EJECT_KEYS};
use crate::pool::limits::keys::CONCURRENCY_KEYS;
use crate::pool::spread::keys::{AUTO_WEIGHT_KEYS, SLOW_START_KEYS};
use crate::schema::Kind::{AnyOf, Choice, Duration, Flag, Integer, Off, Percent, Table};
use crate::schema::Presence::{Default, Otherwise};
use crate::schema::Section;

pub(super) static BALANCER: Section = Section {
    noun: "",
    title: "[balancer]",
    meaning: "The balancer, as far as it matters here.",
    keys: &[
        key(
            "workers",
            Integer { min: 1, max: 1024 },
            Default("1"),
            "4",
            "Each chooses by itself, as the proxy's do; they share the servers' loads. A request comes to any of them.",
        ),
        key(
            "key",
            Choice(&["client", "uri", "value"]),
            Otherwise("`client`; for `lblc` and `lblcr` `uri`"),
            "\"uri\"",
            "What requests are kept together by, for the algorithms that hash a key of choice or keep to one; `value`: one of `values`. `source`, `nginx-ip-hash` \
             and the like go by the client in any case.",
        ),
        key(
            "retries",
            Integer { min: 0, max: 10 },
            Default("2"),
            "0",
            "Further tries of a request that found its server dead.",
        ),
        key(
            "retry-lost",
            Flag,
            Default("false"),
            "true",
            "Whether what a dying server had is tried again, too, as the proxy does with requests that may be sent twice; else it is lost.",
        ),
        key(
            "retry-budget",
            AnyOf(&[Table(&RETRY_BUDGET), Off]),
            Default("false"),
            "{ share = \"10%\" }",
            "How many further tries there may be; without it any number.",
        ),
        key(
            "queue",
            TIME,
            Default("\"1s\""),
            "\"0\"",
            "How long a request may wait when every server is at its limit. One whose wait would be longer, by the pace of the queue, is \
             turned away at once, as the proxy does.",
        ),
        key(
            "queue-length",
            COUNT,
            Otherwise("no limit"),
            "500",
            "So many may wait at once; more are turned away at once.",
        ),
        key(
            "server-queue-length",
            COUNT,
            Otherwise("no limit"),
            "50",
            "So many may wait for one server that they are bound to; more are sent to another server, or turned away with `when-gone = \"fail\"`.",
        ),
        key(
            "fair",
            Flag,
            Default("false"),
            "true",
            "Whether clients get their turns of those who wait; else whoever came first is next.",
        ),
        key(
            "max-connections",
            COUNT,
            Otherwise("no limit"),
            "200",
            "Requests at once, at all servers together; further ones wait.",
        ),
        key(
            "sticky",
            AnyOf(&[Flag, Table(&STICKY)]),
            Default("false"),
            "{ when-busy = \"redispatch\" }",
            "Whether clients stay with the server that they have begun with; `true` = with the defaults. MOVED then counts those who could not.",
        ),
        key(
            "slow-start",
            AnyOf(&[Duration { min_ms: 100, max_ms: 86_400_000 }, Table(&SLOW_START), Off]),
            Default("false"),
            "\"30s\"",
            "How long the weight of a server takes to rise that comes back or is added, and its `max-connections` with it.",
        ),
        key(
            "auto-weight",
            Table(&AUTO_WEIGHT),
            Otherwise("every key has its default"),
            "{ interval = \"10s\" }",
            "How the weights of servers with `weight = \"auto\"` are found.",
        ),
        key(
            "concurrency",
            AnyOf(&[Table(&CONCURRENCY), Off]),
            Default("false"),
            "{ algorithm = \"aimd\", max-latency = \"200ms\" }",
            "A limit of requests at once for each server, found by its latency; `{}` = with the defaults.",
        ),
        key(
            "eject",
            AnyOf(&[Flag, Table(&EJECT)]),
            Default("false"),
            "{ failures = 3 }",
            "Whether servers that refuse requests, or break them off, are ejected for a while, whatever checks know of them; `true` = with the defaults.",
        ),
        key(
            "breaker",
            AnyOf(&[Table(&BREAKER), Off]),
            Default("false"),
            "{ errors = \"30%\" }",
            "Whether requests are turned away at once while too many fail; `{}` = with the defaults.",
        ),
        key(
            "hedge",
            AnyOf(&[Table(&HEDGE), Off]),
            Default("false"),
            "{ delay = \"50ms\" }",
            "Whether a request that is not answered for long goes to another server as well; `{}` = with the defaults. Not with `sticky`.",
        ),
        key(
            "down-after",
            TIME,
            Default("\"6s\""),
            "\"1s\"",
            "From a server's failure until the balancer's checks know.",
        ),
        key("up-after", TIME, Default("\"4s\""), "\"1s\"", "From its recovery until they know."),
        key("network", TIME, Default("\"0\""), "\"300us\"", "Added to the latency of each request."),
    ],
};

static STICKY: Section = Section {
    noun: "",
    title: "[balancer.sticky]",
    meaning: "Sessions, one for each client, in the table that a pool has for them.",
    keys: &[
        key(
            "size",
            Integer { min: 1, max: 10_000_000 },
            Default("100000"),
            "1000000",
            "How many are remembered, at about 100 bytes each; the one that was not seen for longest makes room.",
        ),
        key(
            "expire",
            TIME,
            Default("\"30m\""),
            "\"8h\"",
            "One that was not seen for this long is forgotten.",
        ),
        key(
            "max-life",
            TIME,
            Otherwise("no limit"),
            "\"24h\"",
            "So long after it began with its server it ends, though it is used, as a cookie's does with `max-life`. Whole seconds count.",
        ),
        key(
            "when-gone",
            Choice(&["redispatch", "fail"]),
            Default("\"redispatch\""),
            "\"fail\"",
            "When its server is known to be dead, or refuses: another server gets the client, or the request is refused.",
        ),
        key(
            "when-busy",
            Choice(&["wait", "redispatch"]),
            Default("\"wait\""),
            "\"redispatch\"",
            "When its server is at its limit: the request waits for it, or another server gets the client.",
        ),
    ],
};

static SLOW_START: Section = Section {
    noun: "",
    title: "[balancer.slow-start]",
    meaning: "How the weight of a server rises that comes back or is added, as a pool's; never at the start.",
    keys: SLOW_START_KEYS,
};

static AUTO_WEIGHT: Section = Section {
    noun: "",
    title: "[balancer.auto-weight]",
    meaning: "How weights are found by measurement, as a pool's; by the time until the end of the answer. `static` in `[service]` says how many requests make servers fetch; the others make them compute.",
    keys: &AUTO_WEIGHT_KEYS,
};

static EJECT: Section = Section {
    noun: "",
    title: "[balancer.eject]",
    meaning: "When traffic takes a server out, and for how long, as in a pool. Judged each second, and when a row of failures is long enough.",
    keys: EJECT_KEYS,
};

static BREAKER: Section = Section {
    noun: "",
    title: "[balancer.breaker]",
    meaning: "When so many requests fail that further ones are turned away at once, and for how long, as a pool's. Those fail that every server \
              refuses that was tried, and those whose server dies; who finds no server or no room does not count.",
    keys: BREAKER_KEYS,
};

static RETRY_BUDGET: Section = Section {
    noun: "",
    title: "[balancer.retry-budget]",
    meaning: "How many further tries there may be, second tries of `hedge` included, as a pool's `retry` says it.",
    keys: &[
        key(
            "share",
            Percent { min: 0, max: 100 },
            Default("\"20%\""),
            "\"5%\"",
            "This share of the requests, beyond `min-per-second`. When a server is lost, as many more as there are requests in flight are lent (for each of the `retries`), and \
             paid back before others are made.",
        ),
        key(
            "min-per-second",
            Integer { min: 0, max: 1_000_000 },
            Default("10"),
            "1",
            "So many each second are always permitted; those of the last ten seconds are kept if they were not used.",
        ),
        key(
            "at-once",
            Percent { min: 0, max: 100 },
            Otherwise("any number"),
            "\"10%\"",
            "Of the requests in flight no more than this share may be further tries at once.",
        ),
        key("min-at-once", COUNT, Default("3"), "10", "With `at-once`: so many always may."),
    ],
};

static HEDGE: Section = Section {
    noun: "",
    title: "[balancer.hedge]",
    meaning: "Second tries, as a pool's, within the `retry-budget`. All requests are taken for such as may be sent twice. Whoever answers first wins; the other server goes on working for \
              nobody, as servers do that do not notice that a connection was closed.",
    keys: &[key(
        "delay",
        Duration { min_ms: 1, max_ms: 86_400_000 },
        Otherwise("as long as 95 of 100 requests take, measured over the last ten seconds or more"),
        "\"50ms\"",
        "How long the first server may take.",
    )],
};

static CONCURRENCY: Section = Section {
    noun: "",
    title: "[balancer.concurrency]",
    meaning: "How a server's limit is found, as a pool's; by the time until the end of the answer.",
    keys: CONCURRENCY_KEYS,
};
