//! Keys of `queue` and `concurrency`: limits of active requests, and the waiting requests.

use crate::schema::Kind::{AnyOf, Choice, Percent, Table, Text};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{COUNT, DURATION, Key, Section, key};

pub(crate) static QUEUE: Section = Section {
    noun: "",
    title: "[pool.NAME.queue]",
    meaning: "Who may wait for a server when all are at their limit, and in what order: by the priority of their routes, \
              then by clients in turn (`fair`), then by when they came. How long is `timeouts.queue`. A request whose \
              wait would be longer than that, by the pace of the queue, is answered 503 at once, and Retry-After says how \
              long the wait is.",
    keys: &[
        key(
            "max-length",
            COUNT,
            Otherwise("no limit"),
            "500",
            "So many may wait at once; more are answered 503 at once.",
        ),
        key(
            "max-per-server",
            COUNT,
            Otherwise("no limit"),
            "50",
            "So many may wait for one server that they are bound to, by `sticky` or by `fallback = false`; more are sent to \
             another server, and stay with that (HAProxy's `maxqueue`). With `when-gone = \"fail\"`, and with `ipvs-sh`, `ipvs-dh` and `ipvs-mh`, \
             which know no other, they are answered 503 at once.",
        ),
        key(
            "fair",
            AnyOf(&[Choice(&["none", "client"]), Table(&FAIR)]),
            Default("\"none\""),
            "\"client\"",
            "Between whom turns go round within one priority: `client`, by address (IPv6: by /64), or by the value of a \
             header; `none` = whoever came first is next.",
        ),
    ],
};

pub(crate) static FAIR: Section = Section {
    noun: "",
    title: "[pool.NAME.queue.fair]",
    meaning: "Turns by something other than the address.",
    keys: &[key(
        "header",
        Text("a header name"),
        Required,
        "\"X-Tenant\"",
        "Everyone with the same value of this request header counts as one client; without it, and in TCP mode, the \
         address counts.",
    )],
};

pub(crate) static CONCURRENCY: Section = Section {
    noun: "",
    title: "[pool.NAME.concurrency]",
    meaning: "How many requests a server may have at once, found by its latency (to the response's first byte). It begins at \
              20; what is over the limit goes to other servers, or waits in the queue.",
    keys: CONCURRENCY_KEYS,
};

/// Keys of `concurrency`, also in the scenario file.
pub(crate) const CONCURRENCY_KEYS: &[Key] = &[
    key(
        "algorithm",
        Choice(&["gradient", "aimd"]),
        Default("\"gradient\""),
        "\"aimd\"",
        "`gradient`: by the ratio of the latency without load, which is measured now and then at half the limit, to \
         the latency now; for servers that work on about 8 requests or more at the same time: with fewer it may settle at several times of what they can \
         do. `aimd`: one more while latency is below `max-latency`, else a tenth less.",
    ),
    key("min", COUNT, Default("1"), "10", "The limit is never below this."),
    key("max", COUNT, Default("1000"), "200", "And never above this."),
    key(
        "tolerance",
        Percent { min: 0, max: 100 },
        Default("\"25%\""),
        "\"50%\"",
        "`gradient` only: so much more latency than without load is fine.",
    ),
    key(
        "max-latency",
        DURATION,
        Otherwise("`aimd` needs it"),
        "\"200ms\"",
        "`aimd` only: a mean latency above this is too much.",
    ),
];
