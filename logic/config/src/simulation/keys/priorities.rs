//! Keys of requests with a priority of their own.

use super::key;
use crate::plan::Priority;
use crate::schema::Kind::{Number, Signed};
use crate::schema::Presence::{Default, Required};
use crate::schema::Section;

pub(super) static PRIORITIES: Section = Section {
    noun: "",
    title: "[[priorities]]",
    meaning: "A part of the requests, drawn at random, also of a replay's. Reports have the latency and the errors of each part.",
    keys: &[
        key(
            "share",
            Number { min: 1e-6, max: 1.0 },
            Required,
            "0.1",
            "Of all requests; all parts together are at most 1.",
        ),
        key(
            "class",
            Signed { min: Priority::MIN as i64, max: Priority::MAX as i64 },
            Default("0"),
            "-5",
            "The lowest is served first, however long others wait. Requests of no part have 0.",
        ),
        key(
            "offset-ms",
            Signed { min: -Priority::OFFSET_MAX_MS as i64, max: Priority::OFFSET_MAX_MS as i64 },
            Default("0"),
            "-500",
            "Within its class a request counts as having come so many milliseconds later, or if negative earlier, than it did.",
        ),
    ],
};
