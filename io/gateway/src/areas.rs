//! All storage areas and offloads of a plan, with the identifier of their clients.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::area::Area;
use crate::identity::Identifier;
use crate::offload::Offload;

/// Storage areas and offloads in force.
#[derive(Debug, Default)]
pub(crate) struct Areas {
    pub(crate) by_name: BTreeMap<String, Arc<Area>>,
    /// Offload locations that the servers of a pool may name, by pool name.
    pub(crate) offloads: BTreeMap<String, Arc<Offload>>,
    pub(crate) identifier: Arc<Identifier>,
}
