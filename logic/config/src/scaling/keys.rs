//! Keys of the file of scaling rules.

use crate::schema::Kind::{
    AnyOf, Choice, Duration, Flag, Integer, Named, Number, OneOrMany, Percent, Table, Tables, Text,
};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{Key, Kind, Presence, Section};

const DAY_MS: u64 = 86_400_000;
pub(crate) const TIME: Kind = Duration { min_ms: 100, max_ms: 30 * DAY_MS };
const TIME_OR_ZERO: Kind = Duration { min_ms: 0, max_ms: 30 * DAY_MS };
/// Requests per second.
pub(crate) const CAPACITY: Kind = Number { min: 0.001, max: 1e9 };
/// Maximum size of a fleet.
const SERVERS: Kind = Integer { min: 1, max: 100_000 };
const SERVERS_OR_ZERO: Kind = Integer { min: 0, max: 100_000 };

pub(super) static FILE: Section = Section {
    noun: "",
    title: "The file",
    meaning: "Sets of rules to be compared.",
    keys: &[key(
        "rules",
        Named("rules", &RULES),
        Required,
        "{ calm = { min = 2, max = 13, capacity = 10 } }",
        "A set of rules for each name.",
    )],
};

pub(super) static RULES: Section = Section {
    noun: "rules",
    title: "[rules.NAME]",
    meaning: "How many servers a fleet has, and when.",
    keys: &joined::<2, 12, 14>(
        [
            key("capacity", CAPACITY, Required, "10", "Requests per second that one server can do."),
            key(
                "signals",
                Tables(&SIGNAL),
                Otherwise("requests per second"),
                "{ kind = \"active\", per-server = 50 }",
                "What demand is made of.",
            ),
        ],
        SHARED,
    ),
};

static NAME_OR_POLICY: Kind = AnyOf(&NAMES_OR_POLICIES);
static NAMES_OR_POLICIES: [Kind; 2] = [Choice(&weir_scale::Policy::NAMES), Table(&POLICY)];

/// Keys that real and simulated fleets share.
pub(crate) const SHARED: [Key; 12] = [
    key("min", SERVERS, Default("1"), "2", "Never fewer servers, whatever the demand."),
    key("max", SERVERS, Required, "13", "Never more servers that run."),
    key(
        "quota",
        SERVERS,
        Otherwise("no limit of its own"),
        "15",
        "Never more servers that exist, stopped ones too.",
    ),
    key(
        "policy",
        OneOrMany(&NAME_OR_POLICY),
        Default("\"target\""),
        "[\"target\", { kind = \"reactive\", period = \"30s\" }]",
        "How demand becomes a number of servers. Of several policies the one that wants the most decides.",
    ),
    key(
        "combine",
        Choice(&["max", "mean", "min"]),
        Default("\"max\""),
        "\"mean\"",
        "How the numbers of servers that several signals call for become one.",
    ),
    key("cool-down-up", TIME_OR_ZERO, Default("\"0s\""), "\"30s\"", "Pause between two increases."),
    key(
        "cool-down-down",
        TIME_OR_ZERO,
        Default("\"0s\""),
        "\"5m\"",
        "Pause between any change and a decrease.",
    ),
    key(
        "standby",
        SERVERS_OR_ZERO,
        Otherwise("`max` - `min`: all of them"),
        "2",
        "So many servers that are not needed any more are stopped and kept: waking one is much faster than making one. The others are deleted.",
    ),
    key("prepared", SERVERS_OR_ZERO, Default("0"), "1", "So many of `standby` are made in advance."),
    key(
        "start-up",
        TIME,
        Default("\"60s\""),
        "\"90s\"",
        "How long a new server is expected to take until it gets requests; what it really takes is learned.",
    ),
    key("wake-up", TIME, Default("\"20s\""), "\"10s\"", "The same of a stopped server that is woken."),
    key(
        "drain-deadline",
        TIME,
        Default("\"5m\""),
        "\"1h\"",
        "A server that still works on requests so long after it began to drain is stopped all the same.",
    ),
];

pub(super) static POLICY: Section = Section {
    noun: "policy",
    title: "policy",
    meaning: "`reactive`: the mean of the last period, divided by what a server can do and rounded up. `target`: work that servers lack, or \
              could do besides, adds up until one more or one fewer is worth it. `predictive`: as `target`, and ahead of it by a seasonal \
              forecast. `schedule`: floors at known times.",
    keys: &[
        key(
            "kind",
            Choice(&weir_scale::Policy::NAMES),
            Required,
            "\"target\"",
            "Which policy. The other keys are for those that have them.",
        ),
        key("period", TIME, Default("\"60s\""), "\"30s\"", "`reactive`: time between two rounds."),
        key(
            "baseline",
            Integer { min: 0, max: 1_000 },
            Default("2"),
            "0",
            "`reactive`: rounds at the start that only measure.",
        ),
        key(
            "utilisation",
            Percent { min: 1, max: 100 },
            Default("\"100%\""),
            "\"80%\"",
            "`target`, `predictive`: the share of their capacity that servers should use.",
        ),
        key(
            "up-after",
            TIME,
            Default(UP_AFTER),
            "\"10s\"",
            "`target`, `predictive`: one more server is wanted when so much of its time has been lacking: at once if ten are missing, after ten \
             times as long if it would be busy for a tenth of its time.",
        ),
        key(
            "down-after",
            TIME,
            Default(DOWN_AFTER),
            "\"1m\"",
            "`target`, `predictive`: one fewer is wanted when so much of a server's time has been left over, times the square root of the number \
             that stays.",
        ),
        key(
            "hysteresis",
            Percent { min: 0, max: 90 },
            Default("\"3%\""),
            "\"10%\"",
            "`target`, `predictive`: a server is spare only if those that stay have such a share of their capacity left over.",
        ),
        key(
            "stabilise-up",
            TIME_OR_ZERO,
            Default("\"0s\""),
            "\"30s\"",
            "`target`, `predictive`: more are wanted only if as many were wanted all this time.",
        ),
        key(
            "stabilise-down",
            TIME_OR_ZERO,
            Default("\"0s\""),
            "\"5m\"",
            "`target`, `predictive`: fewer are wanted only if no more were wanted all this time.",
        ),
        key(
            "step-up",
            AnyOf(&[Kind::Off, Table(&STEP)]),
            Otherwise("2 servers or 75% of them, whichever is more, in 30s"),
            "{ servers = 4, share = \"100%\", per = \"1m\" }",
            "`target`, `predictive`: the greatest increase; `false` = any.",
        ),
        key(
            "step-down",
            AnyOf(&[Kind::Off, Table(&STEP)]),
            Otherwise("half of the servers, or one, in 15s"),
            "{ servers = 1, share = \"10%\", per = \"1m\" }",
            "`target`, `predictive`: the greatest decrease; `false` = any.",
        ),
        key(
            "damping",
            Flag,
            Default("true"),
            "false",
            "`target`, `predictive`: grow more patient while changes turn out to have been for nothing: a server let go, or ordered again, sooner than a new \
             one starts. Up to 5 times with ordering, 9 times with letting go.",
        ),
        key(
            "season",
            Duration { min_ms: 60_000, max_ms: 30 * DAY_MS },
            Default("\"1d\""),
            "\"7d\"",
            "`predictive`: how long demand takes to come again. Until a whole season was seen there is no forecast.",
        ),
        key(
            "step",
            Duration { min_ms: 1_000, max_ms: DAY_MS },
            Default("\"5m\""),
            "\"15m\"",
            "`predictive`: the step of the forecast.",
        ),
        key(
            "confidence",
            Percent { min: 50, max: 99 },
            Default("\"90%\""),
            "\"75%\"",
            "`predictive`: how sure it is that demand stays below what the forecast provides for.",
        ),
        key(
            "forecast",
            Choice(&weir_scale::forecast::Method::NAMES),
            Default("\"auto\""),
            "\"holt-winters\"",
            "`predictive`: how the forecast is made. `mstl`: by a decomposition of the last seasons into season, trend and remainder, from two whole \
             seasons on. `holt-winters`: by exponential smoothing, from one season on. `auto`: by `mstl` when it can be, by `holt-winters` until then.",
        ),
        key(
            "floors",
            Tables(&FLOOR),
            Otherwise("none; `schedule` needs one"),
            "{ begins = \"0 8 * * mon-fri\", lasts = \"10h\", servers = 5 }",
            "`schedule`: when there are no fewer servers than so many. Of several the highest counts.",
        ),
    ],
};

/// A test proves that these defaults equal those of `weir_scale`.
const UP_AFTER: &str = "\"13s\"";
const DOWN_AFTER: &str = "\"2s\"";

pub(super) static STEP: Section = Section {
    noun: "",
    title: "step-up and step-down",
    meaning: "So many servers or such a share of them, whichever is more, within a time.",
    keys: &[
        key("servers", SERVERS_OR_ZERO, Default("1"), "4", "So many servers."),
        key(
            "share",
            Percent { min: 0, max: 1_000 },
            Default("\"0%\""),
            "\"50%\"",
            "Such a share of those that were wanted when the time began.",
        ),
        key("per", TIME, Required, "\"1m\"", "The time."),
    ],
};

pub(super) static FLOOR: Section = Section {
    noun: "floor",
    title: "floors",
    meaning: "No fewer servers than so many for a while. They are ordered early enough to be there when it begins.",
    keys: &[
        key(
            "begins",
            Text("minutes as in a crontab"),
            Required,
            "\"0 8 * * mon-fri\"",
            "When, in UTC, as crontab(5) writes it: minute, hour, day of the month, month, day of the week.",
        ),
        key("lasts", Duration { min_ms: 60_000, max_ms: 7 * DAY_MS }, Required, "\"10h\"", "For how long."),
        key("servers", SERVERS, Required, "5", "So many servers."),
    ],
};

pub(super) static SIGNAL: Section = Section {
    noun: "signal",
    title: "signals",
    meaning: "One thing that demand is made of.",
    keys: &[
        key(
            "kind",
            Choice(&["requests", "active", "queued"]),
            Required,
            "\"active\"",
            "`requests`: requests per second, of which a server can do its `capacity`. `active`: requests that are worked on. `queued`: requests \
             that wait for a server; each `per-server` of them call for one more server than there is.",
        ),
        PER_SERVER,
        STATISTIC,
        WINDOW,
    ],
};

pub(crate) const PER_SERVER: Key = key(
    "per-server",
    CAPACITY,
    Otherwise("needed for all but `requests`"),
    "50",
    "What one server should have of it.",
);
pub(crate) const STATISTIC: Key = key(
    "statistic",
    Choice(&["mean", "max", "p50", "p90", "p95", "p99"]),
    Default("\"mean\""),
    "\"max\"",
    "Which of the values of the window counts.",
);
pub(crate) const WINDOW: Key =
    key("window", TIME_OR_ZERO, Default("\"0s\""), "\"1m\"", "The window; 0 = the latest value.");

/// Joins two lists of keys.
pub(crate) const fn joined<const A: usize, const B: usize, const ALL: usize>(
    first: [Key; A],
    then: [Key; B],
) -> [Key; ALL] {
    assert!(A + B == ALL && A > 0);
    let mut all = [first[0]; ALL];
    let mut at = 0;
    while at < ALL {
        all[at] = if at < A { first[at] } else { then[at - A] };
        at += 1;
    }
    all
}

pub(crate) const fn key(
    name: &'static str,
    kind: Kind,
    presence: Presence,
    example: &'static str,
    meaning: &'static str,
) -> Key {
    Key { name, kind, presence, meaning, example }
}
