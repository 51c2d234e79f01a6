use super::Kind::{Integer, Percent, Text};
use super::Presence::{Default, Otherwise, Required};
use super::{DAY_MS, DURATION, Section, key};

pub(crate) static SLOW_START: Section = Section {
    noun: "",
    title: "[pool.NAME.slow-start]",
    meaning: "How the weight of a server rises that has come up, returned or was added while Weir runs; never at the start.",
    keys: &[
        key(
            "window",
            super::Kind::Duration { min_ms: 100, max_ms: DAY_MS },
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
    ],
};

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

const MANY: super::Kind = Integer { min: 1, max: 1_000_000 };

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
