//! All areas of a plan, with what their requests need.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::area::Area;
use crate::identity::Identifier;
use crate::offload::Offload;

/// The storage areas and offloads in force.
#[derive(Debug, Default)]
pub(crate) struct Areas {
    pub(crate) by_name: BTreeMap<String, Arc<Area>>,
    /// What the servers of pools may name, by pool.
    pub(crate) offloads: BTreeMap<String, Arc<Offload>>,
    pub(crate) identifier: Arc<Identifier>,
}
