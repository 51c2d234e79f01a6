//! Keys for failed requests, and for the servers and pools that fail them.

use crate::schema::Kind::{Duration, Integer, Percent};
use crate::schema::Presence::{Default, Otherwise};
use crate::schema::{COUNT, DAY_MS, DURATION, Key, Section, key};

pub(crate) static EJECT: Section = Section {
    noun: "",
    title: "[pool.NAME.eject]",
    meaning: "When real traffic takes a server out, and for how long.",
    keys: EJECT_KEYS,
};

/// Keys of `eject`, also in the scenario file.
pub(crate) const EJECT_KEYS: &[Key] = &[
    key(
        "failures",
        Integer { min: 0, max: 1_000_000 },
        Default("5"),
        "3",
        "Failures in a row that eject; 0 = never for this reason.",
    ),
    key(
        "errors",
        Percent { min: 0, max: 100 },
        Default("\"50%\""),
        "\"30%\"",
        "Share of failed requests within `window` that ejects; 0% = never for this reason.",
    ),
    key(
        "min-requests",
        COUNT,
        Default("50"),
        "20",
        "The share is judged only from this many requests within `window`.",
    ),
    key(
        "window",
        Duration { min_ms: 100, max_ms: DAY_MS },
        Default("\"10s\""),
        "\"30s\"",
        "What the share looks back on.",
    ),
    key(
        "time",
        DURATION,
        Default("\"10s\""),
        "\"30s\"",
        "The first ejection; each further one lasts this much longer, and the count falls again while all is well.",
    ),
    key("max-time", DURATION, Default("\"5m\""), "\"1h\"", "The longest ejection."),
    key(
        "max-share",
        Percent { min: 0, max: 100 },
        Default("\"50%\""),
        "\"20%\"",
        "No more than this share of the servers of one `priority` (of the backups, too) is ejected at once; one always may be, unless the pool has no other. Where servers of another priority or backups can take over, all may be.",
    ),
    key(
        "half-open-requests",
        Integer { min: 0, max: 1_000 },
        Default("3"),
        "1",
        "After its time it gets no more than so many requests at once; when as many have succeeded it is fully back, when one \
         fails it is ejected again. 0 = fully back at once.",
    ),
];

pub(crate) static BREAKER: Section = Section {
    noun: "",
    title: "[pool.NAME.breaker]",
    meaning: "Keeps requests away from a pool that fails them. It goes by what became of requests after all their tries: \
              no connection, no response, or 502, 503 or 504 from a server. Single servers are `eject`'s matter, which \
              leaves the last of them in; requests that found no server or no room do not count.",
    keys: BREAKER_KEYS,
};

/// Keys of `breaker`, also in the scenario file.
pub(crate) const BREAKER_KEYS: &[Key] = &[
    key(
        "errors",
        Percent { min: 1, max: 100 },
        Default("\"50%\""),
        "\"30%\"",
        "Share of failed requests within `window` that opens it.",
    ),
    key(
        "min-requests",
        COUNT,
        Default("20"),
        "100",
        "The share is judged only from this many requests within `window`.",
    ),
    key(
        "window",
        Duration { min_ms: 100, max_ms: DAY_MS },
        Default("\"10s\""),
        "\"30s\"",
        "What the share looks back on.",
    ),
    key("open", DURATION, Default("\"5s\""), "\"30s\"", "How long it is open; then it is half open."),
    key(
        "half-open-requests",
        Integer { min: 1, max: 1_000 },
        Default("3"),
        "1",
        "So many requests are then let pass. When all of them succeed it closes; when one fails it opens again.",
    ),
];

pub(crate) static RETRY: Section = Section {
    noun: "",
    title: "[pool.NAME.retry]",
    meaning: "When a request is tried again on another server: only where nothing was written to the first, or where the \
              method is safe and the client has seen no byte.",
    keys: &[
        key(
            "attempts",
            Integer { min: 0, max: 10 },
            Default("2"),
            "1",
            "Further tries after the first; 0 = none.",
        ),
        key(
            "budget",
            Percent { min: 0, max: 100 },
            Default("\"20%\""),
            "\"5%\"",
            "Retries may be this share of the pool's requests, beyond `min-per-second`. When a server is lost, as many more as its pool has requests in flight are lent (for each of the `attempts`), and paid back before others are made.",
        ),
        key(
            "min-per-second",
            Integer { min: 0, max: 1_000_000 },
            Default("10"),
            "1",
            "Retries each second that are always permitted; those of the last ten seconds are kept if they were not used.",
        ),
        key(
            "at-once",
            Percent { min: 1, max: 100 },
            Otherwise("any number"),
            "\"20%\"",
            "Of the requests in flight no more than this share may be further tries at once: an outage is not multiplied, however \
             long each try takes.",
        ),
        key("min-at-once", COUNT, Default("3"), "10", "With `at-once`: so many always may."),
    ],
};

pub(crate) static HEDGE: Section = Section {
    noun: "",
    title: "[pool.NAME.hedge]",
    meaning: "For safe methods without a body: when no byte of a response has come after a while, the request goes to \
              another server as well. Whose response begins first wins; the other connection is closed. Each second try \
              is taken from the budget of `retry`.",
    keys: &[key(
        "delay",
        DURATION,
        Otherwise(
            "as long as 95 of 100 of the pool's responses take to begin, measured over the last ten seconds or more",
        ),
        "\"50ms\"",
        "How long the first server may be silent.",
    )],
};
