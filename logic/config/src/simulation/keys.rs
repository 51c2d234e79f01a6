//! Keys of the scenario file.

mod agent;
mod balancer;
mod events;
mod priorities;

use super::keys::agent::AGENT;
use super::keys::balancer::BALANCER;
use super::keys::events::{DRAIN, FAIL, SLOW};
use super::keys::priorities::PRIORITIES;
use crate::pool::balance::keys::ALGORITHM_NAMES;
use crate::schema::Kind::{
    AnyOf, Choice, Flag, Integer, Number, OneOrMany, Percent, Size, Table, Tables, Text,
};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{Key, Kind, Presence, Section};

const TIME: Kind = Text("a time such as \"1.5ms\"");
const COUNT: Kind = Integer { min: 1, max: u32::MAX as u64 };

pub(super) static SCENARIO: Section = Section {
    noun: "",
    title: "The file",
    meaning: "What is compared, and how carefully.",
    keys: &[
        key(
            "algorithms",
            OneOrMany(&Choice(&ALGORITHM_NAMES)),
            Otherwise("all of them"),
            "[\"least-connections\", \"random\"]",
            "The algorithms to be compared; `weir algorithms` explains each.",
        ),
        key(
            "requests",
            Integer { min: 1, max: 1_000_000_000_000 },
            Otherwise("100000; a replay: the whole log"),
            "1000000",
            "Requests of each run. A replay ends when the log does, if that is earlier.",
        ),
        key(
            "warm-up",
            Integer { min: 0, max: 1_000_000_000_000 },
            Otherwise("a tenth of `requests`; a replay: 0"),
            "10000",
            "So many requests at the beginning are not measured.",
        ),
        key(
            "seed",
            Integer { min: 0, max: i64::MAX as u64 },
            Default("1"),
            "42",
            "Where randomness begins: the same seed gives the same result, to the last digit on the same machine.",
        ),
        key(
            "seeds",
            Integer { min: 1, max: 1_000 },
            Default("5"),
            "10",
            "Runs of each algorithm, each with a seed of its own. With one there are no confidence intervals.",
        ),
        key(
            "rank-by",
            Choice(&["mean", "p50", "p95", "p99", "p99.9"]),
            Default("\"p99\""),
            "\"mean\"",
            "The latency that decides who wins.",
        ),
        key(
            "arrivals",
            Table(&ARRIVALS),
            Otherwise("a Poisson stream at 80% of what the servers can do"),
            "{ load = 0.9 }",
            "When requests come.",
        ),
        key(
            "replay",
            Table(&REPLAY),
            Otherwise("requests come by `arrivals`"),
            "{ file = \"access.log\" }",
            "Requests come as a log says, instead of by `arrivals`.",
        ),
        key(
            "service",
            Table(&SERVICE),
            Otherwise("exponential, 10ms"),
            "{ mean = \"5ms\" }",
            "How much work a request is.",
        ),
        key(
            "clients",
            Table(&CLIENTS),
            Otherwise("10000, all alike"),
            "{ count = 500, zipf = 0.8 }",
            "Who asks. Algorithms that go by the client's address see these. A replay has its own.",
        ),
        key(
            "uris",
            Table(&URIS),
            Otherwise("10000, by Zipf's law"),
            "{ count = 100000, zipf = 0.9 }",
            "What is asked for. Caches remember these. A replay has its own, where its lines have them.",
        ),
        key(
            "values",
            Table(&VALUES),
            Otherwise("none"),
            "{ count = 200, zipf = 1.1 }",
            "What requests bring besides client and URI that they may be kept together by (`key = \"value\"`): hosts, tenants, cookies. Those of a replay are drawn, too.",
        ),
        key(
            "priorities",
            Tables(&PRIORITIES),
            Otherwise("all requests have 0"),
            "{ share = 0.1, class = -5 }",
            "Parts of the requests that go first, or last, when requests have to wait in the balancer, as those of a route with a `priority`.",
        ),
        key(
            "balancer",
            Table(&BALANCER),
            Otherwise("every key has its default"),
            "{ workers = 4 }",
            "The balancer, as far as it matters here.",
        ),
        key(
            "servers",
            Tables(&SERVERS),
            Otherwise("ten equal ones"),
            "{ count = 3, concurrency = 8 }",
            "Groups of equal servers.",
        ),
    ],
};

static ARRIVALS: Section = Section {
    noun: "",
    title: "[arrivals]",
    meaning: "When requests come.",
    keys: &[
        key(
            "pattern",
            Choice(&["poisson", "constant", "bursty", "daily"]),
            Default("\"poisson\""),
            "\"bursty\"",
            "`poisson`: independent of each other. `constant`: at equal distances. `bursty`: the rate jumps between two levels at \
             random times. `daily`: the rate follows `curve`.",
        ),
        key(
            "load",
            Number { min: 1e-6, max: 100.0 },
            Otherwise("0.8, unless there is a `rate`"),
            "0.9",
            "The mean rate, as a share of what all servers together can do. From 1 on queues grow for as long as the run lasts.",
        ),
        key(
            "rate",
            Number { min: 1e-6, max: 1e9 },
            Otherwise("by `load`"),
            "2500",
            "The mean rate in requests per second.",
        ),
        key(
            "burst",
            Table(&BURST),
            Otherwise("every key has its default"),
            "{ factor = 4 }",
            "The bursts of `bursty`.",
        ),
        key(
            "curve",
            OneOrMany(&Number { min: 0.0, max: 1e9 }),
            Otherwise("24 hours of an office day"),
            "[1, 0.5, 2, 4]",
            "The rate in equal parts of the day, relative to each other, for `daily`.",
        ),
        key("day", TIME, Default("\"24h\""), "\"10m\"", "How long a day of `daily` lasts."),
    ],
};

static BURST: Section = Section {
    noun: "",
    title: "Bursts",
    meaning: "Times within and between bursts are exponential. The mean rate is the one that `load` or `rate` says.",
    keys: &[
        key(
            "factor",
            Number { min: 1.0, max: 1e6 },
            Default("3"),
            "5.5",
            "The rate within a burst, as a multiple of the mean rate; at most (`on` + `off`) / `on`, when nothing comes outside.",
        ),
        key("on", TIME, Default("\"1s\""), "\"200ms\"", "The mean length of a burst."),
        key("off", TIME, Default("\"4s\""), "\"2s\"", "The mean time between two bursts."),
    ],
};

static REPLAY: Section = Section {
    noun: "",
    title: "[replay]",
    meaning: "A log whose requests come again. It is read as the simulation goes, not loaded; lines may be a little out of order, \
              as they are in a log that is written when requests end.",
    keys: &[
        key(
            "file",
            Text("a path"),
            Required,
            "\"access.log\"",
            "The log, relative to where `weir` is started.",
        ),
        key(
            "format",
            Choice(&["auto", "common", "combined", "httplog", "json", "csv"]),
            Default("\"auto\""),
            "\"csv\"",
            "How its lines look. `auto`: by the first line. `csv` has a heading with `arrival_s` and any of `service_ms`, `bytes`, \
             `client`, `uri`.",
        ),
        key("speed", Number { min: 1e-3, max: 1e6 }, Default("1"), "2.0", "2 = twice as fast as it was."),
        key(
            "times",
            Choice(&["logged", "first-byte", "drawn"]),
            Default("\"logged\""),
            "\"first-byte\"",
            "How long a request takes a server of speed 1. `logged`: from the connection to the end of the answer, as the line has it (with what \
             the request waited at the server, and what its client took to send and to read it), else by `service`. `first-byte`: the same to \
             the answer's first byte, for servers that are free once they have answered, whoever reads; `tcplog` lines do not say, and go by \
             `service`. `drawn`: always by `service`.",
        ),
    ],
};

static SERVICE: Section = Section {
    noun: "",
    title: "[service]",
    meaning: "How long a request takes a server of speed 1.",
    keys: &[
        key(
            "distribution",
            Choice(&["exponential", "deterministic", "lognormal", "pareto", "by-size"]),
            Default("\"exponential\""),
            "\"pareto\"",
            "How times vary. `by-size`: `base` + size / `bandwidth`.",
        ),
        key("mean", TIME, Default("\"10ms\""), "\"1.5ms\"", "The mean time; not for `by-size`."),
        key(
            "deviation",
            Number { min: 0.0, max: 100.0 },
            Default("1"),
            "2.5",
            "Standard deviation / mean: of times for `lognormal`, of sizes for `by-size`.",
        ),
        key(
            "shape",
            Number { min: 0.1, max: 100.0 },
            Default("1.5"),
            "1.1",
            "The exponent of the tail of `pareto`; the smaller, the heavier.",
        ),
        key("max", TIME, Otherwise("1000 times the mean"), "\"10s\"", "The longest time of `pareto`."),
        key("base", TIME, Default("\"1ms\""), "\"500us\"", "For `by-size`."),
        key(
            "bandwidth",
            Kind::ByteRate,
            Default("\"10MiB/s\""),
            "\"100MiB/s\"",
            "For `by-size`, each slot's.",
        ),
        key(
            "size",
            Size { min: 0, max: 1 << 50 },
            Default("\"64KiB\""),
            "\"1MiB\"",
            "The mean size for `by-size` (log-normal). A replay has its own, where its lines have them.",
        ),
        key(
            "static",
            Number { min: 0.0, max: 1.0 },
            Default("0"),
            "0.3",
            "The share of requests that make servers fetch a file instead of computing, drawn at random, also of a replay's unless `--config` has a pool whose `auto-weight.static` tells them: servers may be faster or slower at \
             them (`static-speed`), and weights that are found go by both.",
        ),
    ],
};

static CLIENTS: Section = Section {
    noun: "",
    title: "[clients]",
    meaning: "Who asks.",
    keys: &[
        key("count", Integer { min: 1, max: 16_000_000 }, Default("10000"), "500", "How many."),
        key(
            "zipf",
            Number { min: 0.0, max: 10.0 },
            Default("0"),
            "0.8",
            "The n-th client asks in proportion to 1 / n^zipf. 0 = all alike.",
        ),
    ],
};

static URIS: Section = Section {
    noun: "",
    title: "[uris]",
    meaning: "What is asked for.",
    keys: &[
        key("count", Integer { min: 1, max: 1 << 40 }, Default("10000"), "100000", "How many."),
        key(
            "zipf",
            Number { min: 0.0, max: 10.0 },
            Default("1"),
            "0.9",
            "The n-th URI is asked for in proportion to 1 / n^zipf. 0 = all alike.",
        ),
    ],
};

static VALUES: Section = Section {
    noun: "",
    title: "[values]",
    meaning: "What requests bring besides client and URI: hosts, tenants, cookies. With `--config` they are what the pool's key is made of, where that is no client, URI or path.",
    keys: &[
        key("count", Integer { min: 1, max: 1 << 40 }, Default("1000"), "200", "How many."),
        key(
            "zipf",
            Number { min: 0.0, max: 10.0 },
            Default("1"),
            "1.1",
            "The n-th value is brought in proportion to 1 / n^zipf. 0 = all alike.",
        ),
    ],
};

pub(super) static SERVERS: Section = Section {
    noun: "servers",
    title: "[[servers]]",
    meaning: "A group of equal servers.",
    keys: &[
        key("name", Text("a name"), Otherwise("a number"), "\"fast\"", "What reports call the group."),
        key("count", Integer { min: 1, max: 100_000 }, Default("10"), "3", "How many servers."),
        key(
            "speed",
            Number { min: 1e-6, max: 1e6 },
            Default("1"),
            "0.5",
            "2 = does in 1 s what is 2 s of work.",
        ),
        key(
            "static-speed",
            Number { min: 1e-6, max: 1e6 },
            Otherwise("`speed`"),
            "2.5",
            "The same at requests that make it fetch a file (`static` in `[service]`).",
        ),
        key(
            "concurrency",
            Integer { min: 1, max: 1_000_000 },
            Default("1"),
            "8",
            "Requests that it works on at the same time at full speed.",
        ),
        key(
            "sharing",
            Choice(&["fifo", "shared"]),
            Default("\"fifo\""),
            "\"shared\"",
            "What becomes of more: `fifo`: they wait in line at the server. `shared`: all are worked on, each the slower.",
        ),
        key(
            "weight",
            AnyOf(&[Integer { min: 0, max: 256 }, Choice(&["auto"])]),
            Default("1"),
            "2",
            "Its share of the traffic; `\"auto\"` = from its speed, which is measured: 16 = average.",
        ),
        key(
            "processor",
            Percent { min: 1, max: 10_000 },
            Otherwise("measured"),
            "\"150%\"",
            "With `weight = \"auto\"`: how fast it is, in relation to an average server.",
        ),
        key(
            "storage",
            Percent { min: 1, max: 10_000 },
            Otherwise("measured"),
            "\"80%\"",
            "With `weight = \"auto\"`: how fast it is at requests that make it fetch a file (`static` in `[service]`).",
        ),
        key("backup", Flag, Default("false"), "true", "Gets requests only when no other server can."),
        key(
            "max-connections",
            COUNT,
            Otherwise("no limit"),
            "100",
            "The balancer gives it no more at once; further ones wait in the balancer.",
        ),
        key(
            "added",
            TIME,
            Default("\"0\""),
            "\"30s\"",
            "When they are added to the pool, from the start. `load` and the use of servers count them from the start nevertheless.",
        ),
        key("cache", Table(&CACHE), Otherwise("none"), "{ uris = 1000 }", "What each server remembers."),
        key(
            "fail",
            Tables(&FAIL),
            Otherwise("never"),
            "{ at = \"30s\", for = \"10s\" }",
            "When servers of the group die, and for how long.",
        ),
        key(
            "slow",
            Tables(&SLOW),
            Otherwise("never"),
            "{ at = \"30s\", for = \"10s\", speed = 0.1 }",
            "When servers of the group are slower, and for how long.",
        ),
        key(
            "drain",
            Tables(&DRAIN),
            Otherwise("never"),
            "{ at = \"30s\", for = \"10s\" }",
            "When servers of the group are taken out of traffic, and for how long.",
        ),
        key(
            "agent",
            Tables(&AGENT),
            Otherwise("nothing"),
            "{ at = \"30s\", says = \"50%\" }",
            "What the agents beside servers of the group say of them, and when.",
        ),
    ],
};

static CACHE: Section = Section {
    noun: "",
    title: "A server's cache",
    meaning: "The least recently asked-for URI is forgotten first.",
    keys: &[
        key("uris", Integer { min: 1, max: 10_000_000 }, Required, "1000", "URIs that fit."),
        key(
            "speed-up",
            Number { min: 1.0, max: 1e6 },
            Default("10"),
            "50",
            "How many times faster a request is whose URI is in there.",
        ),
    ],
};

const fn key(
    name: &'static str,
    kind: Kind,
    presence: Presence,
    example: &'static str,
    meaning: &'static str,
) -> Key {
    Key { name, kind, presence, meaning, example }
}
