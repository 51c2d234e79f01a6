//! Keys of `[pool.NAME.balance]`.

use weir_balance::{Algorithm, HashFunction, HashOptions};

use crate::schema::Kind::{AnyOf, Choice, Flag, Integer, Percent, Table, Text};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{DAY_MS, DURATION, Kind, Section, key};

pub(crate) static BALANCE: Section = Section {
    noun: "",
    title: "[pool.NAME.balance]",
    meaning: "How a server is chosen, where the name of an algorithm does not suffice: `balance = { algorithm = \"hash\", key = \"uri\" }`.",
    keys: &[
        key(
            "algorithm",
            Choice(&ALGORITHM_NAMES),
            Required,
            "\"hash\"",
            "Its name; `weir algorithms` explains each.",
        ),
        key(
            "key",
            AnyOf(&[
                Text(
                    "`source`, `destination`, `uri`, `host`, `path`, `url-param NAME`, `header NAME`, `cookie NAME` or `rdp-cookie`",
                ),
                Table(&EXPRESSION),
            ]),
            Otherwise(
                "`source`, the client's address; for `ipvs-dh`, `lblc` and `lblcr` `destination`, the one that it has connected to; required for `hash`, `nginx-hash` and `ketama`",
            ),
            "\"header X-Tenant\"",
            "What requests are kept together by, for the algorithms that hash. One that does not have it goes to the next server in turn. `rdp-cookie` (`mstshash`, or `rdp-cookie NAME`) is for TCP mode, the parts of a request are for HTTP.",
        ),
        key("len", COUNT, Otherwise("all of it"), "48", "Of the `uri`, only so many bytes count."),
        key("depth", COUNT, Otherwise("all of them"), "3", "Of the `uri`, only so many directories count."),
        key("whole", Flag, Default("false"), "true", "Of the `uri`, the query counts too."),
        key(
            "path-only",
            Flag,
            Default("false"),
            "true",
            "Of the `uri`, scheme and authority do not count where a client sends them.",
        ),
        key(
            "use-domain-only",
            Flag,
            Default("false"),
            "true",
            "Of the `header`, only the label before the last dot counts: of `www.example.org`, `example`.",
        ),
        key(
            "function",
            Choice(&FUNCTIONS),
            Otherwise("`sdbm`; `ketama` and `nginx-hash` have `crc32`"),
            "\"djb2\"",
            "How the bytes of a key become a number. An address is one already; with `none` the key itself is read as one, in decimal digits (one that is none counts as 0).",
        ),
        key(
            "avalanche",
            Flag,
            Otherwise("true for `ring`, false for `hash` and `source`"),
            "true",
            "Whether that number is mixed once more, so that similar keys go to different servers.",
        ),
        key(
            "points",
            Choice(&["address", "host", "name", "position", "id", "id32"]),
            Default("\"address\""),
            "\"position\"",
            "For `ring`: what a server's points come from. Its address (HAProxy's `hash-key addr-port`); its address without the port (`host`, there `addr`); its name, which stays when it moves (there `guid`); or its place in the pool (`position`, there `id`, the default; `id32`; `id` is what `id` was by mistake in releases of HAProxy 3.0 to 3.2 from before October 2025).",
        ),
        key(
            "bounded-load",
            Percent { min: 101, max: 10_000 },
            Otherwise("no bound"),
            "\"150%\"",
            "A server that has more than this share of its fair part of the pool's requests is passed over. For `ring`, `ketama` and `random`.",
        ),
        key(
            "fallback",
            Flag,
            Default("true"),
            "false",
            "Whether another server is sought where the key's own has no room; else the request waits for that one. For `source`, `hash`, `ring`, `maglev`, `rendezvous`, `ipvs-sh`, `ipvs-dh` and `ipvs-mh`.",
        ),
        key(
            "port",
            Flag,
            Default("false"),
            "true",
            "Whether the client's port counts as well, unless another balancer says who the client is. For `ipvs-sh` and `ipvs-mh`.",
        ),
        key(
            "table-size",
            Integer { min: 101, max: HashOptions::TABLE_SIZE_MAX as u64 },
            Default("65537"),
            "655373",
            "For `maglev`: places in its table, a prime number. Where the lightest server has a hundred of them shares are even within 2%. With another number nearly all keys go elsewhere; the more there are, the longer a change of servers takes the control plane.",
        ),
        key(
            "expiration",
            DURATION,
            Default("\"1d\""),
            "\"10m\"",
            "How long a key is remembered that nobody asks for, and how long a key's set of servers stays without change before it shrinks. For `lblc` and `lblcr`.",
        ),
        key("draws", DRAWS, Default("2"), "3", "For `random`: servers drawn for each request."),
        key(
            "distinct",
            Flag,
            Default("false"),
            "true",
            "For `random`: each server that is drawn differs from the one before (NGINX's `random two`).",
        ),
        key(
            "choices",
            DRAWS,
            Default("2"),
            "3",
            "For `least-request`: servers drawn where all weights are equal.",
        ),
        key(
            "bias",
            Percent { min: 0, max: 1_000 },
            Otherwise("100%, where weights differ"),
            "\"150%\"",
            "For `least-request`: how much requests in flight count, weight / (active + 1)^bias; 0% = not at all. Written, it holds for equal weights, too.",
        ),
        key(
            "decay",
            DURATION,
            Default("\"10s\""),
            "\"5s\"",
            "For `peak-ewma`: within this time an old round trip time fades to 1/e.",
        ),
        key(
            "default-rtt",
            DURATION,
            Default("\"10ms\""),
            "\"1ms\"",
            "For `peak-ewma`: the round trip time that is supposed before the first answer.",
        ),
        key(
            "drawn",
            Integer { min: 2, max: 32 },
            Otherwise("all servers are compared"),
            "2",
            "For `least-response-time`: only so many servers, drawn at random by weight, are compared for each request. Good where many Weirs know little of each other's requests.",
        ),
        key(
            "until",
            Choice(&["header", "last-byte"]),
            Default("\"header\""),
            "\"last-byte\"",
            "For `least-response-time`: whether the time until the head of a response counts or until its end.",
        ),
        key(
            "inflight",
            Flag,
            Default("false"),
            "true",
            "For `least-response-time`: whether the time counts that requests have been waiting which have no answer yet.",
        ),
        key(
            "forgive",
            Kind::Duration { min_ms: 1_000, max_ms: DAY_MS },
            Default("\"10s\""),
            "\"30s\"",
            "For `least-response-time`: half of a server's time is forgiven for each such time without a request. Whole seconds count.",
        ),
    ],
};

pub(crate) static EXPRESSION: Section = Section {
    noun: "",
    title: "[pool.NAME.balance.key]",
    meaning: "A key that is worked out.",
    keys: &[key(
        "expression",
        Text("a CEL expression"),
        Required,
        "\"client_ip + path\"",
        "An expression as in a route's `when`, but for a text, bytes, a number or a bool; other types are errors of the config. One \
         that fails for a request (a missing header), and an empty text, is no key.",
    )],
};

const DRAWS: Kind = Integer { min: 1, max: 32 };
const COUNT: Kind = Integer { min: 1, max: 65_535 };

pub(crate) const ALGORITHM_NAMES: [&str; Algorithm::ALL.len()] = {
    let mut names = [""; Algorithm::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Algorithm::ALL[index].name();
        index += 1;
    }
    names
};

const FUNCTIONS: [&str; HashFunction::ALL.len()] = {
    let mut names = [""; HashFunction::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = HashFunction::ALL[index].name();
        index += 1;
    }
    names
};
