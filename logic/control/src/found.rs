//! JSON form of an automatic weight: `true`. Only configs can set speeds.

use serde::{Deserialize, Deserializer, Serializer};
use weir_balance::KnownSpeeds;

pub(crate) fn serialize<S: Serializer>(found: &Option<KnownSpeeds>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bool(found.is_some())
}

pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<KnownSpeeds>, D::Error> {
    Ok(bool::deserialize(from)?.then(KnownSpeeds::default))
}
