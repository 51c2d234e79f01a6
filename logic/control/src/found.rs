//! A weight that is found, in JSON: `true`. Speeds are given in configs only.

use serde::{Deserialize, Deserializer, Serializer};
use weir_balance::KnownSpeeds;

pub(crate) fn serialize<S: Serializer>(found: &Option<KnownSpeeds>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bool(found.is_some())
}

pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<KnownSpeeds>, D::Error> {
    Ok(bool::deserialize(from)?.then(KnownSpeeds::default))
}
