//! Kinds of values that keys of several sections take.

use crate::schema::Kind;
use crate::schema::Kind::{Map, Text};

/// Header names, each with a text.
pub(crate) const HEADER_TEXTS: Kind = Map("header names", &Text("a header value"));
