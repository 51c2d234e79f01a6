//! Keys of the agents' reports.

use super::{COUNT, TIME, key};
use crate::schema::Kind::Text;
use crate::schema::Presence::{Default, Required};
use crate::schema::Section;

pub(super) static AGENT: Section = Section {
    noun: "",
    title: "What an agent says",
    meaning: "The words of HAProxy's agent-check protocol, as a pool's `agent` hears them. What they do not mention stays as it was.",
    keys: &[
        key("at", TIME, Required, "\"30s\"", "When, from the start."),
        key(
            "says",
            Text("words of the agent-check protocol"),
            Required,
            "\"50%\"",
            "`75%` of its weight counts from then on, `maxconn:30`, `drain` and `maint` until `ready`, `down`, `fail` and `stopped` until `up`.",
        ),
        key("servers", COUNT, Default("1"), "2", "The agents of how many of the group: the first ones."),
    ],
};
