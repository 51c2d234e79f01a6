//! Which server a pool would choose, as far as that can be said beforehand.

use std::net::IpAddr;
use std::sync::Arc;

use serde::Serialize;
use weir_balance::{Candidate, Pick, PickInput, Picker, Roster, ServerLoad};
use weir_config::plan::{PoolPlan, ServerPlan};
use weir_model::Weight;

/// What a pool does with a request while all of its servers are up.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct PoolAnswer {
    pub(super) name: String,
    pub(super) algorithm: &'static str,
    /// How it chooses.
    pub(super) rule: &'static str,
    /// The server that it is, where that depends on the request alone.
    pub(super) server: Option<String>,
    /// The servers that it may be.
    pub(super) candidates: Vec<CandidateAnswer>,
    /// Servers that are asked only when none of the others can be.
    pub(super) backups: Vec<CandidateAnswer>,
}

#[derive(Debug, Serialize)]
pub(super) struct CandidateAnswer {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) weight: u32,
}

impl PoolAnswer {
    pub(super) fn new(pool: &PoolPlan, client: Option<IpAddr>) -> Self {
        let usable = |server: &&ServerPlan| server.weight > Weight::ZERO;
        let (backups, main): (Vec<_>, Vec<_>) =
            pool.servers.iter().filter(usable).partition(|server| server.backup);
        // Without others, the backups are all there is.
        let (candidates, backups) = if main.is_empty() { (backups, main) } else { (main, backups) };
        let server = match candidates.as_slice() {
            [only] => Some(only.name.to_string()),
            _ => by_source(pool, client),
        };
        Self {
            name: pool.name.to_string(),
            algorithm: pool.algorithm.name(),
            rule: pool.algorithm.entry().formula,
            server,
            candidates: candidates.into_iter().map(CandidateAnswer::new).collect(),
            backups: backups.into_iter().map(CandidateAnswer::new).collect(),
        }
    }
}

impl CandidateAnswer {
    fn new(server: &ServerPlan) -> Self {
        Self {
            name: server.name.to_string(),
            address: server.address.to_string(),
            weight: server.weight.get(),
        }
    }
}

/// The server that a client's address leads to.
fn by_source(pool: &PoolPlan, client: Option<IpAddr>) -> Option<String> {
    if !pool.algorithm.goes_by_source() {
        return None;
    }
    let candidate = |(slot, server): (usize, &ServerPlan)| Candidate {
        slot,
        rank: slot as u32,
        weight: server.weight,
        backup: server.backup,
        eligible: true,
        connections_max: server.connections_max,
        load: Arc::new(ServerLoad::default()),
    };
    let roster = Roster::new(pool.algorithm, pool.servers.iter().enumerate().map(candidate).collect(), None);
    match Picker::new(0).pick(&roster, &PickInput { source: Some(client?), ..PickInput::default() }) {
        Pick::Server(slot) => pool.servers.get(slot).map(|server| server.name.to_string()),
        Pick::Busy | Pick::Nobody => None,
    }
}
