//! Keys of `slow-start`, `auto-weight`, `zone`, `subset` and `agent` of a pool.

use crate::schema::Kind::{Integer, OneOrMany, Percent, Text};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{COUNT, DAY_MS, DURATION, Key, Kind, Section, key};

pub(crate) static SLOW_START: Section = Section {
    noun: "",
    title: "[pool.NAME.slow-start]",
    meaning: "How the weight of a server rises that has come up, returned or was added while Weir runs, and its `max-connections` with it \
              (to no less than 1); never at the start.",
    keys: SLOW_START_KEYS,
};

/// Keys of `slow-start`, also in the scenario file.
pub(crate) const SLOW_START_KEYS: &[Key] = &[
    key(
        "window",
        Kind::Duration { min_ms: 100, max_ms: DAY_MS },
        Required,
        "\"30s\"",
        "How long it takes until the whole weight counts.",
    ),
    key(
        "aggression",
        Percent { min: 10, max: 1_000 },
        Default("\"100%\""),
        "\"200%\"",
        "100% = in proportion to the time; above it faster at first, below it slower: (time / window)^(100% / aggression).",
    ),
    key("min-weight", Percent { min: 1, max: 100 }, Default("\"10%\""), "\"1%\"", "What it begins with."),
];

/// Names of static files: responses to requests for them are read, not computed.
pub(crate) const STATIC_PATHS: [&str; 22] = [
    "**.avif", "**.bz2", "**.css", "**.gif", "**.gz", "**.ico", "**.iso", "**.jpeg", "**.jpg", "**.js",
    "**.map", "**.mjs", "**.mp3", "**.mp4", "**.pdf", "**.png", "**.svg", "**.txt", "**.webm", "**.webp",
    "**.woff2", "**.zip",
];

pub(crate) static AUTO_WEIGHT: Section = Section {
    noun: "",
    title: "[pool.NAME.auto-weight]",
    meaning: "How the weights of servers with `weight = \"auto\"` are found: 16 x (a x Pp + (1 - a) x Pm). `a` is the share of requests that make \
              servers compute, Pp a server's speed at those, Pm its speed at the others; speeds are those of the lower quartile of the times until \
              the first byte, in relation to the pool's average. Share and speeds follow what is new by three tenths at a time. Servers that a fleet adds \
              are measured like the others; in a pool without servers of its own this table alone has that done.",
    keys: &[
        key(
            "static",
            OneOrMany(&Text("a glob of paths")),
            Otherwise("the extensions of common file formats"),
            "\"/static/**\"",
            "GET and HEAD requests for these make servers fetch; all others make them compute.",
        ),
        AUTO_WEIGHT_KEYS[0],
        AUTO_WEIGHT_KEYS[1],
        AUTO_WEIGHT_KEYS[2],
        AUTO_WEIGHT_KEYS[3],
    ],
};

/// Keys of `auto-weight`, also in the scenario file.
pub(crate) const AUTO_WEIGHT_KEYS: [Key; 4] = [
    key(
        "interval",
        Kind::Duration { min_ms: 1_000, max_ms: DAY_MS },
        Default("\"30s\""),
        "\"2m\"",
        "How often weights are judged. Each moves by a quarter of itself at most.",
    ),
    key(
        "min-requests",
        COUNT,
        Default("20"),
        "100",
        "Requests of a class that a server must have answered for its speed at them to be judged anew, and requests that the pool must have answered \
             for `a` to be. Fewer are kept until they are enough.",
    ),
    key("min", Integer { min: 1, max: 256 }, Default("1"), "4", "No weight is below it."),
    key("max", Integer { min: 1, max: 256 }, Default("256"), "64", "No weight is above it."),
];

pub(crate) static ZONE: Section = Section {
    noun: "",
    title: "[pool.NAME.zone]",
    meaning: "Which of its servers are near.",
    keys: &[
        key("name", Text("a name"), Required, "\"a\"", "The zone that this Weir is in, for this pool."),
        key(
            "stay",
            Percent { min: 1, max: 100 },
            Default("\"70%\""),
            "\"100%\"",
            "While at least this share of the zone's weight is up, all requests stay in it. Below it, (share that is up) / (this share) of them do, and the others are spread over the other zones.",
        ),
    ],
};

pub(crate) static SUBSET: Section = Section {
    noun: "",
    title: "[pool.NAME.subset]",
    meaning: "The part of the servers that this one of several Weirs uses. All of them need the same servers in the same order.",
    keys: &[
        key("size", MANY, Required, "20", "Servers for each Weir, at least."),
        key(
            "instance",
            Integer { min: 0, max: 999_999 },
            Required,
            "3",
            "Which of the Weirs this is, counted from 0.",
        ),
        key("instances", MANY, Required, "10", "How many Weirs there are."),
    ],
};

const MANY: Kind = Integer { min: 1, max: 1_000_000 };

pub(crate) static AGENT: Section = Section {
    noun: "",
    title: "[pool.NAME.agent]",
    meaning: "A program beside each server that is asked over TCP how the server is, by HAProxy's agent-check protocol.",
    keys: &[
        key(
            "port",
            Integer { min: 1, max: 65_535 },
            Required,
            "9999",
            "Where it listens, at the server's address.",
        ),
        key(
            "interval",
            DURATION,
            Default("\"2s\""),
            "\"5s\"",
            "Between the end of one answer and the next question.",
        ),
        key(
            "timeout",
            DURATION,
            Default("\"2s\""),
            "\"500ms\"",
            "From the connect to the end of the answer.",
        ),
        key("send", Text("a text"), Otherwise("nothing"), "\"web-1\\n\"", "What is sent to it first."),
    ],
};
