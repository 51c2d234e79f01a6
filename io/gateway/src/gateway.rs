//! The [`Gateway`] service: prepares, publishes and retires the storage areas of a plan.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use weir_config::Plan;
use weir_config::plan::{Mode, TlsOut};
use weir_control::{LockSnapshot, Refusal, StorageSnapshot, TransfersSnapshot};
use weir_net::service::{
    Answer, Body, Delivery, Done, FileOrder, FileTarget, LocalFuture, Request, Service, TakenUpload,
};
use weir_net::tls::ClientTls;
use weir_storage::NodeId;

use crate::area::{Area, Kept};
use crate::areas::Areas;
use crate::error::GatewayError;
use crate::identity::Identifier;
use crate::offload::Offload;
use crate::token_endpoint::Issuing;
use crate::transfers::{Desk, TransferTls, Transfers};
use crate::unlocking::Unlocking;
use crate::upkeep::Upkeep;
use crate::{dispatch, method, refusal};

/// All storage areas of the process, as a service for the proxy.
#[derive(Debug)]
pub struct Gateway {
    areas: ArcSwap<Areas>,
    node: Node,
    /// Background upkeep, started with the first area.
    upkeep: OnceLock<Upkeep>,
    transfers: Arc<Transfers>,
}

/// Identity of this process among those that share a file system.
#[derive(Debug, Clone)]
pub struct Node {
    /// Name of the node. Only ASCII letters, digits and `. - _` are used, at most 64 characters.
    pub name: String,
    /// Random number that differs at each start of the process.
    pub boot: u64,
}

/// Areas that are ready to be published: their roots are open and their files are read.
#[derive(Debug)]
pub struct Prepared {
    areas: Areas,
}

impl Gateway {
    /// Creates a gateway without areas.
    pub fn new(node: Node) -> Self {
        Self { areas: ArcSwap::default(), node, upkeep: OnceLock::new(), transfers: Arc::default() }
    }

    /// Opens all areas and offloads that a plan names. Unchanged areas keep their threads and their cached
    /// state. Blocks on the disk.
    ///
    /// # Errors
    /// If any area, offload, key file or TLS file cannot be loaded. The error lists all problems.
    pub fn prepare(&self, plan: &Plan) -> Result<Prepared, GatewayError> {
        if !plan.storage_areas.is_empty() && self.upkeep.get().is_none() {
            // Another thread may have set it first.
            let _ = self.upkeep.set(Upkeep::start().map_err(|error| GatewayError(vec![error]))?);
        }
        let before = self.areas.load();
        let node = NodeId::new(&self.node.id())
            .map_err(|error| GatewayError(vec![format!("{}: {error}", self.node.name)]))?;
        let mut wrong = Vec::new();
        let identifier = Identifier::new(plan, &before.identifier);
        wrong.extend(identifier.as_ref().err().cloned());
        let mut by_name = BTreeMap::new();
        let tls = tls_of_transfers(plan);
        let identity = identity_headers(plan);
        wrong.extend(tls.as_ref().err().cloned());
        for area in &plan.storage_areas {
            let before = before.by_name.get(area.name.as_str());
            match Area::open(area, (node.clone(), self.node.boot), before.map(|area| Kept::of(area))) {
                Ok(mut opened) => {
                    // Cedar policies cannot be searched for conditions on tokens, so assume that they have
                    // some.
                    opened.schemes.bearer |= !area.access.cedar.is_empty() && !plan.token_issuers.is_empty();
                    if let (true, Ok(Some(tls))) = (area.third_party_copy, &tls) {
                        let (copies, rate) = (&plan.third_party_copy, area.third_party_copy_rate);
                        let before = before.and_then(|area| area.desk.as_deref());
                        opened.desk =
                            Some(Arc::new(Desk::new(&self.transfers, copies, tls, &identity, rate, before)));
                    }
                    by_name.insert(area.name.to_string(), Arc::new(opened));
                }
                Err(error) => wrong.push(format!("storage area {}: {error}", area.name)),
            }
        }
        let mut offloads = BTreeMap::new();
        let are_open = wrong.is_empty();
        for pool in plan.pools.iter().filter(|_| are_open) {
            let Some(offload) = &pool.offload else { continue };
            let former = before.offloads.get(pool.name.as_str()).map(|former| &**former);
            match Offload::open(&pool.name, offload, &by_name, (node.clone(), self.node.boot), former) {
                Ok(opened) => drop(offloads.insert(pool.name.to_string(), Arc::new(opened))),
                Err(error) => wrong.push(format!("pool {}: offload: {error}", pool.name)),
            }
        }
        match (identifier, wrong.is_empty()) {
            (Ok(identifier), true) => Ok(Prepared { areas: Areas { by_name, offloads, identifier } }),
            _ => Err(GatewayError(wrong)),
        }
    }

    /// Puts these areas into force. Removed areas stay until [`Self::retire`], because workers switch to the
    /// new plan only with their next request.
    pub fn publish(&self, prepared: Prepared) {
        let Areas { mut by_name, mut offloads, identifier } = prepared.areas;
        let names: Vec<String> = by_name.keys().cloned().collect();
        for (name, area) in &self.areas.load().by_name {
            by_name.entry(name.clone()).or_insert_with(|| Arc::clone(area));
        }
        for (name, offload) in &self.areas.load().offloads {
            offloads.entry(name.clone()).or_insert_with(|| Arc::clone(offload));
        }
        for area in names.iter().filter_map(|name| by_name.get(name)) {
            area.apply();
            if let Some(upkeep) = self.upkeep.get() {
                upkeep.keep(area);
            }
        }
        self.areas.store(Arc::new(Areas { by_name, offloads, identifier }));
    }

    /// Returns the state of the third-party copies.
    pub fn transfers(&self) -> TransfersSnapshot {
        self.transfers.snapshot()
    }

    /// Breaks locks for an operator and returns them. Blocks on the disk.
    ///
    /// # Errors
    /// If no lock was broken.
    pub fn unlock(&self, unlocking: &Unlocking) -> Result<Vec<LockSnapshot>, Refusal> {
        unlocking.carry_out(self.areas.load().by_name.values())
    }

    /// Ends all third-party copies at process shutdown and starts no new ones. Each copy sends a last line to
    /// its client.
    pub fn end_transfers(&self) {
        self.transfers.stop();
    }

    /// Drops the areas and offloads that are not in `plan`.
    pub fn retire(&self, plan: &Plan) {
        let now = self.areas.load();
        let is_there = |name: &str| plan.storage_areas.iter().any(|area| area.name.as_str() == name);
        let by_name = now.by_name.iter().filter(|(name, _)| is_there(name));
        let by_name = by_name.map(|(name, area)| (name.clone(), Arc::clone(area))).collect();
        let has_offload =
            |name: &str| plan.pools.iter().any(|pool| pool.name.as_str() == name && pool.offload.is_some());
        let offloads = now.offloads.iter().filter(|(name, _)| has_offload(name));
        let offloads = offloads.map(|(name, offload)| (name.clone(), Arc::clone(offload))).collect();
        let identifier = Arc::clone(&now.identifier);
        self.areas.store(Arc::new(Areas { by_name, offloads, identifier }));
    }
}

impl Gateway {
    /// Returns the state of all areas, sorted by name. Does not block.
    pub fn snapshot(&self) -> Vec<StorageSnapshot> {
        let areas = self.areas.load();
        let mut snapshots: Vec<_> = areas.by_name.values().map(|area| area.snapshot()).collect();
        snapshots.sort_by(|one, other| one.name.cmp(&other.name));
        snapshots
    }
}

/// Loads the TLS settings for third-party copies, if an area permits them. Blocks on the disk.
fn tls_of_transfers(plan: &Plan) -> Result<Option<TransferTls>, String> {
    if !plan.storage_areas.iter().any(|area| area.third_party_copy) {
        return Ok(None);
    }
    let named = plan.third_party_copy.tls();
    let elsewhere = TlsOut { client_certificate: None, ..named.clone() };
    let load = |tls: &TlsOut| ClientTls::load(tls).map_err(|error| format!("third-party-copy: {error}"));
    Ok(Some(TransferTls { named: load(&named)?, elsewhere: load(&elsewhere)? }))
}

/// Returns the names of all headers in which the listeners' proxies pass a client's identity.
fn identity_headers(plan: &Plan) -> Vec<String> {
    let names = plan.listeners.iter().filter_map(|listener| match &listener.mode {
        Mode::Http(http) => Some(http.forwarding.identity_headers.iter().cloned()),
        Mode::Tcp(_) => None,
    });
    names.flatten().collect()
}

impl Node {
    fn id(&self) -> String {
        let sound = |c: &char| c.is_ascii_alphanumeric() || ".-_".contains(*c);
        let id: String = self.name.chars().filter(sound).take(64).collect();
        if id.is_empty() { "node".to_owned() } else { id }
    }
}

impl Service for Gateway {
    fn call(&self, name: &str, request: Request, body: Body) -> LocalFuture<Answer> {
        let areas = self.areas.load();
        let Some(area) = areas.by_name.get(name) else {
            return Box::pin(std::future::ready(refusal::unavailable(&request)));
        };
        if let Some(issuing) = Issuing::of(&areas, area, &request) {
            return Box::pin(issuing.answer(request, body));
        }
        if let Some(answer) = method::plain(area, &request) {
            return Box::pin(std::future::ready(answer));
        }
        Box::pin(dispatch::answer(Arc::clone(area), Arc::clone(&areas.identifier), request, body))
    }

    fn take_upload(
        &self,
        pool: &str,
        request: Request,
        body: Body,
        target: FileTarget,
    ) -> LocalFuture<Result<TakenUpload, Delivery>> {
        match self.areas.load().offloads.get(pool).map(Arc::clone) {
            Some(offload) => Box::pin(offload.take_upload(request, body, target)),
            None => Box::pin(std::future::ready(Err(not_open(&request)))),
        }
    }

    fn deliver(&self, pool: &str, request: Request, order: FileOrder) -> LocalFuture<Delivery> {
        let areas = self.areas.load();
        match areas.offloads.get(pool).map(Arc::clone) {
            Some(offload) => Box::pin(offload.deliver(request, order)),
            None => Box::pin(std::future::ready(not_open(&request))),
        }
    }

    fn done(&self, name: &str, done: &Done<'_>) {
        if let Some(area) = self.areas.load().by_name.get(name) {
            area.counters.count(done);
        }
    }
}

fn not_open(request: &Request) -> Delivery {
    let complaint = Some("its locations are not open".to_owned());
    Delivery { answer: refusal::unavailable(request), complaint }
}
