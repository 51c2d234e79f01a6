//! Keys of the events that happen to servers.

use super::{COUNT, TIME, key};
use crate::schema::Kind::{Flag, Number};
use crate::schema::Presence::{Default, Required};
use crate::schema::{Key, Section};

const AT: Key = key("at", TIME, Required, "\"30s\"", "When, from the start.");
const FOR: Key = key("for", TIME, Required, "\"10s\"", "For how long.");
const SERVERS: Key = key("servers", COUNT, Default("1"), "2", "How many of the group: the first ones.");

pub(super) static FAIL: Section = Section {
    noun: "",
    title: "A failure",
    meaning: "The servers refuse everything and lose what they had, until they are back.",
    keys: &[AT, FOR, SERVERS],
};

pub(super) static SLOW: Section = Section {
    noun: "",
    title: "A slow-down",
    meaning: "Work under way is slower, too.",
    keys: &[
        AT,
        FOR,
        SERVERS,
        key(
            "speed",
            Number { min: 1e-6, max: 1e6 },
            Required,
            "0.1",
            "Their speed in the meantime, as a multiple of their own.",
        ),
    ],
};

pub(super) static DRAIN: Section = Section {
    noun: "",
    title: "A drain",
    meaning: "The operator takes servers out of traffic: they finish what they have and get nothing new, but from clients that are bound to them.",
    keys: &[
        AT,
        FOR,
        SERVERS,
        key(
            "maintenance",
            Flag,
            Default("false"),
            "true",
            "Whether clients that are bound to them go elsewhere, too (`weir ctl maintenance`).",
        ),
    ],
};
