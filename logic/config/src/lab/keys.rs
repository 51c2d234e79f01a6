//! Keys of the scenario file.

use super::kinds::{PER_S, SERVERS_COUNT, TIME, TIME_OR_ZERO, key};
use super::rival_keys::{PRODUCTS, RIVAL};
use super::topology_keys::TOPOLOGY;
use crate::schema::Kind::{AnyOf, Choice, Flag, Integer, Map, Number, OneOrMany, Size, Table, Tables, Text};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{Kind, Section};

const COUNT: Kind = Integer { min: 1, max: 1_000_000_000 };

/// Highest weight that any balancer accepts.
const WEIGHT: Kind = Integer { min: 1, max: 256 };
const CONNECTIONS: Kind = Integer { min: 1, max: 60_000 };

const MARGIN: Kind = Number { min: 0.0, max: 1.0 };
const SIZE: Kind = Size { min: 0, max: 1 << 40 };
const SCHEMES: Kind = Choice(&["round-robin", "least-connections", "source", "random"]);
const MEASURES: Kind = Choice(&[
    "mean",
    "p50",
    "p99",
    "connect",
    "waiting",
    "rate",
    "cpu",
    "server-cpu",
    "machine-cpu",
    "memory",
    "servers",
    "outage",
    "answered",
    "recovery",
    "p90",
    "p95",
    "max",
    "deviation",
    "success",
    "server-memory",
    "session",
]);

pub(super) static SCENARIO: Section = Section {
    noun: "",
    title: "The file",
    meaning: "Who is compared, and how carefully.",
    keys: &[
        key(
            "title",
            Text("a title"),
            Otherwise("none"),
            "\"Small files\"",
            "What the report is headed with.",
        ),
        key(
            "rivals",
            OneOrMany(&AnyOf(&[PRODUCTS, Table(&RIVAL)])),
            Default("[\"weir\", \"haproxy\", \"nginx\"]"),
            "[\"none\", \"weir\", { product = \"haproxy\", name = \"haproxy-3.4\", program = \"/opt/haproxy/haproxy\" }]",
            "Who is compared. `none` is no balancer: the client speaks with the first server. Those whose program is not there are \
             left out with a note.",
        ),
        key(
            "algorithms",
            OneOrMany(&SCHEMES),
            Default("\"least-connections\""),
            "[\"round-robin\", \"least-connections\"]",
            "Each rival is played with each of these.",
        ),
        key(
            "repeats",
            Integer { min: 1, max: 1_000 },
            Default("7"),
            "10",
            "How often each case is played with each rival. The unit of all statistics is such a run: with fewer than 4 nothing can be \
             significant in one case alone.",
        ),
        key(
            "seed",
            Integer { min: 0, max: i64::MAX as u64 },
            Default("1"),
            "42",
            "Where the order of turns begins: within each repeat of a case rivals take turns in an order drawn anew.",
        ),
        key(
            "warm-up",
            TIME_OR_ZERO,
            Default("\"1s\""),
            "\"3s\"",
            "Load before each turn that is not measured.",
        ),
        key("pause", TIME_OR_ZERO, Default("\"200ms\""), "\"1s\"", "Rest between turns."),
        key(
            "watch",
            TIME,
            Default("\"500ms\""),
            "\"2s\"",
            "How often monitors look at the balancer, the servers and the machine.",
        ),
        key(
            "monitors",
            OneOrMany(&Choice(&["disks", "interfaces", "energy"])),
            Otherwise("none but those"),
            "[\"energy\", \"interfaces\"]",
            "What is watched besides the processes of balancer and servers, TCP and the machine: what disks do, what passes through the interfaces of the network \
             that the balancer is in (without one, of the machine; over `ssh`, of each machine), and the energy that the machine counts (where it counts none, its processors' seconds). It is kept with each run, and reports say what grew.",
        ),
        key(
            "judge",
            OneOrMany(&MEASURES),
            Default("[\"mean\", \"cpu\"]"),
            "\"p99\"",
            "What the verdict goes by. `cpu` is the balancer's CPU time for each answer, `server-cpu` that of all servers, `machine-cpu` that of the whole \
             machine (client, servers and kernel included, so that balancers that are the kernel can be compared), `servers` how many ran where they \
             come and go. In tests in which something is lost or reloaded, `outage` is the longest time without an answer, `answered` the share of requests \
             that were answered as expected, `recovery` the time from the first failed request to the last (1 ms if hardly any failed); these are \
             compared however many requests fail, and so is `success`, the same share of any test. `server-memory` is that of all servers together, \
             `session` the time of a connection in tests with `calls`.",
        ),
        key(
            "margin",
            MARGIN,
            Default("0.05"),
            "0.02",
            "A difference that does not matter: 0.05 is 5 percent. Nobody is said to be better unless the whole interval of the ratio lies beyond \
             it, and two are said to be the same if the whole interval lies within. Of `answered` and `success`, which are shares, it is 0.001 at most.",
        ),
        key(
            "topology",
            Table(&TOPOLOGY),
            Otherwise("loopback"),
            "{ kind = \"namespaces\", server-rate = 1000 }",
            "Where it is played.",
        ),
        key(
            "servers",
            Table(&SERVERS),
            Otherwise("every key has its default"),
            "{ count = 10 }",
            "What is behind the balancer.",
        ),
        key(
            "balancer",
            Table(&BALANCER),
            Otherwise("every key has its default"),
            "{ tls-in = true }",
            "What every balancer is told, in its own language.",
        ),
        key(
            "test",
            Tables(&TEST),
            Required,
            "{ connections = 10, requests = 1000 }",
            "What is asked of them.",
        ),
        key(
            "published",
            Tables(&PUBLISHED),
            Otherwise("none"),
            "{ test = \"1\", measure = \"mean\", values = { haproxy = 62.8 } }",
            "Figures of others, which reports show beside.",
        ),
        key(
            "quick",
            Table(&QUICK),
            Otherwise("repeats = 3, warm-up = \"300ms\", margin = 0.1"),
            "{ repeats = 4, requests = 200 }",
            "What `--quick` changes.",
        ),
    ],
};

static SERVERS: Section = Section {
    noun: "",
    title: "[servers]",
    meaning: "What is behind the balancer. Each server tells its name in X-Origin, from which shares are counted.",
    keys: &[
        key(
            "kind",
            Choice(&["origin", "storage", "nginx", "apache", "command"]),
            Default("\"origin\""),
            "\"nginx\"",
            "`origin`: Weir's test server (`/bytes/N`, `/upload`, ...). `storage`: Weir's WebDAV over a directory. `nginx`, `apache`: files. \
             `command`: a program of yours. `storage`, `nginx` and `apache` have a file for each `size`, and speak TLS where `tls-out` asks for it.",
        ),
        key("count", SERVERS_COUNT, Default("3"), "10", "How many, for tests that do not say."),
        key(
            "weights",
            OneOrMany(&WEIGHT),
            Otherwise("all alike"),
            "[3, 1]",
            "What balancers are told of unequal servers: the weight of each, one after another, and from the start again for further ones. \
             `round-robin` must be seen to keep to them. A rival that has no weights for an algorithm is refused.",
        ),
        key(
            "delay",
            OneOrMany(&TIME_OR_ZERO),
            Otherwise("none"),
            "[\"100ms\", \"200ms\"]",
            "What each takes before it answers, without CPU; only `origin`. One for all, or one after another as `weights` are. A run whose answers \
             come sooner than the shortest is invalid.",
        ),
        key(
            "concurrency",
            OneOrMany(&COUNT),
            Otherwise("as many as come"),
            "1",
            "Requests that each works on at the same time, with a `delay`; others wait. One for all, or one after another as `weights` are.",
        ),
        key(
            "program",
            Text("a path"),
            Otherwise("found by its name"),
            "\"/usr/sbin/nginx\"",
            "The program of `nginx`, `apache` or `command`.",
        ),
        key(
            "arguments",
            OneOrMany(&Text("an argument")),
            Otherwise("none"),
            "[\"--listen\", \"{bind}\"]",
            "Of `command`: `{bind}` is where it must listen, `{name}` its name, `{directory}` one of its own.",
        ),
    ],
};

static BALANCER: Section = Section {
    noun: "",
    title: "[balancer]",
    meaning: "What every balancer is told, in its own language.",
    keys: &[
        key("workers", Integer { min: 1, max: 256 }, Default("1"), "4", "Threads or processes."),
        key(
            "port",
            Integer { min: 0, max: 65_535 },
            Default("0"),
            "8080",
            "Where it listens; 0 takes a free one.",
        ),
        key(
            "tls-in",
            Flag,
            Default("false"),
            "true",
            "Clients speak TLS, with a certificate made for the run.",
        ),
        key("tls-out", Flag, Default("false"), "true", "Servers speak TLS, too, and are verified."),
        key(
            "check",
            Text("a path"),
            Default("\"\""),
            "\"/health\"",
            "What active health checks ask for, of balancers that have such; empty = none.",
        ),
        key(
            "pair",
            Table(&PAIR),
            Otherwise("one balancer"),
            "{ interval = \"200ms\" }",
            "Two balancers that are set up alike, and keepalived beside each: clients reach the one that has the pair's address. Needs \
             network namespaces.",
        ),
    ],
};

static PAIR: Section = Section {
    noun: "",
    title: "[balancer.pair]",
    meaning: "An active balancer and a passive one. keepalived (VRRP, version 3) gives the address to the first while that lives.",
    keys: &[
        key(
            "interval",
            Kind::Duration { min_ms: 10, max_ms: 40_000 },
            Default("\"200ms\""),
            "\"1s\"",
            "How often the active one says that it is there. The passive one takes over when three times this, and a little, has passed \
             in silence.",
        ),
        key(
            "program",
            Text("a path"),
            Otherwise("keepalived, found in PATH and the usual directories"),
            "\"/usr/sbin/keepalived\"",
            "The program of keepalived.",
        ),
    ],
};

pub(super) static TEST: Section = Section {
    noun: "test",
    title: "[[test]]",
    meaning: "What is asked of them. Either `rate`, or `connections`.",
    keys: &[
        key("name", Text("a name"), Otherwise("its number"), "\"VII\"", "What reports call it."),
        key(
            "rate",
            OneOrMany(&PER_S),
            Otherwise("by `connections`"),
            "[10, 50, 100, 500]",
            "Requests a second (with `calls`: connections), whatever the server does.",
        ),
        key(
            "phases",
            OneOrMany(&Table(&PHASE)),
            Otherwise("one rate all of the time"),
            "[{ rate = 10, for = \"1m\" }, { rate = 110, for = \"3m\" }]",
            "Rates one after another, in place of `rate`.",
        ),
        key("poisson", Flag, Default("false"), "true", "Requests come at random instead of evenly."),
        key(
            "calls",
            Integer { min: 1, max: 1_000_000 },
            Otherwise("connections do not matter"),
            "10",
            "Requests on each connection, one after another.",
        ),
        key(
            "connections",
            OneOrMany(&CONNECTIONS),
            Otherwise("by `rate`"),
            "[10, 50]",
            "So many connections ask again when they are answered.",
        ),
        key(
            "requests",
            COUNT,
            Otherwise("as many as there are in `duration`"),
            "5000",
            "Ends it after so many.",
        ),
        key("duration", TIME, Default("\"10s\""), "\"1m\"", "How long requests are started."),
        key(
            "servers",
            OneOrMany(&SERVERS_COUNT),
            Otherwise("`count` of `[servers]`"),
            "[3, 10]",
            "How many servers.",
        ),
        key(
            "size",
            OneOrMany(&SIZE),
            Otherwise("none: `path` says what is asked for"),
            "[\"1000000B\", \"5MiB\"]",
            "What is asked for: a file of so many bytes. Answers of another size make a run invalid.",
        ),
        key("method", Text("a method"), Default("\"GET\""), "\"PUT\"", "Of each request."),
        key(
            "mix",
            Text("methods with weights"),
            Otherwise("`method` alone"),
            "\"GET=70,PUT=20,PROPFIND=10\"",
            "Several methods for the same path, at random by weight; `body` goes with PUT, POST and PATCH.",
        ),
        key(
            "path",
            Text("a path"),
            Otherwise("`/bytes/SIZE`"),
            "\"/delay/20\"",
            "Of each request; `{i}` is its number.",
        ),
        key("body", SIZE, Default("\"0B\""), "\"1MiB\"", "Sent with each request."),
        key(
            "headers",
            Map("header", &Text("a value")),
            Otherwise("none"),
            "{ Depth = \"1\" }",
            "Of each request.",
        ),
        key("keep-alive", Flag, Default("true"), "false", "Connections take more than one request."),
        key("timeout", TIME, Default("\"30s\""), "\"5s\"", "How long an answer may take."),
        key(
            "check-balance",
            Flag,
            Default("true"),
            "false",
            "A run whose servers did not get the shares that the algorithm gives them is invalid: equal ones by `round-robin` and `random`, all of it for one by `source`, something for each by `least-connections`.",
        ),
        key(
            "kill-for",
            TIME,
            Otherwise("never"),
            "\"2s\"",
            "Kills the first server in the middle of the run, and starts it again after so long.",
        ),
        key(
            "lose",
            Choice(&["machine", "program"]),
            Otherwise("nothing"),
            "\"machine\"",
            "What the active one of the pair loses in the middle of the run: its `machine`, as when the power fails, or the balancer's \
             `program` alone, which keepalived looks after once a second.",
        ),
        key(
            "reload-every",
            TIME,
            Otherwise("never"),
            "\"1s\"",
            "The balancer is told so often to read its configuration again. Its CPU time is not counted then: processes come and go.",
        ),
        key(
            "idle",
            Integer { min: 0, max: 25_000 },
            Default("0"),
            "10000",
            "So many further connections have had an answer, and say nothing more; the client speaks no TLS.",
        ),
    ],
};

static PHASE: Section = Section {
    noun: "",
    title: "A phase",
    meaning: "A rate for a time.",
    keys: &[
        key("rate", Number { min: 0.0, max: 1e6 }, Required, "131", "Requests a second."),
        key("for", TIME, Required, "\"2m\"", "How long."),
    ],
};

pub(super) static PUBLISHED: Section = Section {
    noun: "published",
    title: "[[published]]",
    meaning: "Figures of others. Compare shapes and ratios: they are from other machines.",
    keys: &[
        key("test", Text("a name"), Required, "\"VII\"", "Of which case, as reports call it."),
        key("measure", MEASURES, Required, "\"mean\"", "Which figure."),
        key(
            "percent",
            Flag,
            Default("false"),
            "true",
            "Values are in percent of the best, where no more was published.",
        ),
        key(
            "values",
            Map("rival", &Number { min: 0.0, max: 1e12 }),
            Required,
            "{ \"haproxy round-robin\" = 351.5 }",
            "Of whom, as reports call them.",
        ),
    ],
};

static QUICK: Section = Section {
    noun: "",
    title: "[quick]",
    meaning: "What `--quick` changes: each key stands for that of the same name, in every test that has it.",
    keys: &[
        key("repeats", Integer { min: 1, max: 1_000 }, Default("3"), "4", "Runs of each case and rival."),
        key("warm-up", TIME_OR_ZERO, Default("\"300ms\""), "\"1s\"", "Before each turn."),
        key(
            "margin",
            MARGIN,
            Default("0.1"),
            "0.03",
            "A difference that does not matter. Short runs differ more among themselves, so that less than this could be said once and not the next time.",
        ),
        key("tests", OneOrMany(&Text("a name")), Otherwise("all of them"), "[\"I\", \"II\"]", "Only these."),
        key("requests", COUNT, Otherwise("as ever"), "200", "Of each test that says how many."),
        key("duration", TIME, Otherwise("as ever"), "\"2s\"", "Of each test."),
        key("rate", OneOrMany(&PER_S), Otherwise("as ever"), "[10, 100]", "Of each test that has rates."),
        key(
            "phases",
            OneOrMany(&Table(&PHASE)),
            Otherwise("as ever"),
            "[{ rate = 10, for = \"2s\" }, { rate = 110, for = \"2s\" }]",
            "Of each test that has phases.",
        ),
        key(
            "connections",
            OneOrMany(&CONNECTIONS),
            Otherwise("as ever"),
            "100",
            "Of each test that has connections.",
        ),
        key("size", OneOrMany(&SIZE), Otherwise("as ever"), "\"16MiB\"", "Of each test that has sizes."),
    ],
};
