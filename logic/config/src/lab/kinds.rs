//! Kinds of values that keys of several tables share.

use crate::schema::Kind::{Integer, Number};
use crate::schema::{Key, Kind, Presence};

pub(super) const TIME: Kind = Kind::Duration { min_ms: 1, max_ms: 86_400_000 };

pub(super) const TIME_OR_ZERO: Kind = Kind::Duration { min_ms: 0, max_ms: 86_400_000 };

pub(super) const SERVERS_COUNT: Kind = Integer { min: 1, max: 100 };

pub(super) const PER_S: Kind = Number { min: 0.01, max: 1e6 };

pub(super) const fn key(
    name: &'static str,
    kind: Kind,
    presence: Presence,
    example: &'static str,
    meaning: &'static str,
) -> Key {
    Key { name, kind, presence, meaning, example }
}
