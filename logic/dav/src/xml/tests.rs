//! Tests of the XML bodies, with limits for all of them.

mod answers;
mod bodies;
mod fragments;
mod hostile;

use super::*;

const LIMITS: XmlLimits =
    XmlLimits { bytes_max: 4_096, depth_max: 8, elements_max: 40, attributes_max: 8, name_bytes_max: 64 };

fn name(namespace: &str, local: &str) -> PropName {
    PropName::new(namespace, local).unwrap()
}
