//! Explains which server a pool would choose, as far as the config and the request determine it.

use std::sync::Arc;

use serde::Serialize;
use weir_balance::{Candidate, Key, Pick, PickInput, Picker, Portion, Roster, ServerLoad};
use weir_config::plan::{KeyPlan, LocationFiles, LocationPlan, PoolPlan, ServerPlan};
use weir_http::RouteRequest;
use weir_model::Weight;

use super::sticky::{self, StickyAnswer};

/// Decision of a pool about a request while all of its servers are up.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct PoolAnswer {
    pub(super) name: String,
    pub(super) algorithm: &'static str,
    /// Formula of the algorithm.
    pub(super) rule: &'static str,
    /// Key by which the pool balances. `None` if the algorithm has no key.
    pub(super) key: Option<KeyAnswer>,
    /// Stickiness of the request. `None` if the pool is not sticky.
    pub(super) sticky: Option<StickyAnswer>,
    /// Server that the client is redirected to. `None` if Weir proxies the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sent_on: Option<String>,
    /// Files that its servers may let Weir send, or store, in place of a body.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) offloads: Vec<String>,
    /// Chosen server, if it depends on the request alone.
    pub(super) server: Option<String>,
    /// Servers that the pool may choose from.
    pub(super) candidates: Vec<CandidateAnswer>,
    /// Servers that are used only if no other server is available.
    pub(super) backups: Vec<CandidateAnswer>,
}

#[derive(Debug, Serialize)]
pub(super) struct KeyAnswer {
    /// Name of the key in the config.
    pub(super) name: String,
    /// Hash of the key in hexadecimal digits. `None` if the request does not have the key.
    pub(super) hash: Option<String>,
    /// True if the key is the client's address.
    #[serde(skip)]
    pub(super) is_source: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct CandidateAnswer {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) weight: u32,
}

impl PoolAnswer {
    fn new(pool: &PoolPlan, key: Option<Key>) -> Self {
        let usable = |server: &&ServerPlan| server.weight > Weight::ZERO;
        let (backups, main): (Vec<_>, Vec<_>) =
            pool.servers.iter().filter(usable).partition(|server| server.backup);
        // A pool that has only backups uses them as its servers.
        let (candidates, backups) = if main.is_empty() { (backups, main) } else { (main, backups) };
        let server = match candidates.as_slice() {
            [only] => Some(only.name.to_string()),
            _ => by_key(pool, key),
        };
        Self {
            name: pool.name.to_string(),
            algorithm: pool.algorithm.name(),
            rule: pool.algorithm.entry().formula,
            key: pool.algorithm.takes_key().then(|| KeyAnswer::new(&pool.hash.key, key)),
            sticky: None,
            sent_on: None,
            offloads: Vec::new(),
            server,
            candidates: candidates.into_iter().map(CandidateAnswer::new).collect(),
            backups: backups.into_iter().map(CandidateAnswer::new).collect(),
        }
    }

    /// Does the same as [`Self::new`], and adds stickiness, redirects and offloads.
    pub(super) fn with_sticky(pool: &PoolPlan, key: Option<Key>, request: Option<&RouteRequest<'_>>) -> Self {
        let mut answer = Self::new(pool, key);
        answer.sticky = sticky::explain(pool, request);
        if let Some(server) = answer.sticky.as_ref().and_then(|sticky| sticky.server.clone()) {
            answer.server = Some(server);
        }
        answer.sent_on = request.and_then(|request| sent_on(pool, request, answer.server.as_deref()));
        answer.offloads = request.map(|request| offloads(pool, request)).unwrap_or_default();
        answer
    }
}

impl KeyAnswer {
    fn new(plan: &KeyPlan, key: Option<Key>) -> Self {
        Self {
            name: plan.to_string(),
            hash: key.map(|key| format!("{:08x}", key.hash())),
            is_source: *plan == KeyPlan::Source,
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

/// Describes the redirect to a server that the client gets, if it gets one.
fn sent_on(pool: &PoolPlan, request: &RouteRequest<'_>, server: Option<&str>) -> Option<String> {
    if request.stays_here() {
        return None;
    }
    let redirect = pool.redirect.as_ref().filter(|redirect| redirect.is_for(request.method, request.path))?;
    match server {
        Some(server) => redirect.node(server).map(|url| format!("307 to {url}, with a ticket")),
        None => {
            let names: Vec<&str> = redirect.nodes.iter().map(|(name, _)| name.as_str()).collect();
            Some(format!(
                "307 to the server that is chosen, with a ticket, if it is one of {}",
                names.join(", ")
            ))
        }
    }
}

/// Describes the files that servers may name, and whether Weir asks them about an upload.
fn offloads(pool: &PoolPlan, request: &RouteRequest<'_>) -> Vec<String> {
    let Some(offload) = &pool.offload else { return Vec::new() };
    let header = if offload.x_sendfile { "X-Accel-Redirect or X-Sendfile" } else { "X-Accel-Redirect" };
    let files = |files: &LocationFiles| match files {
        LocationFiles::Area(area) => format!("storage area {area}"),
        LocationFiles::Root { root, .. } => root.display().to_string(),
    };
    let place = |location: &LocationPlan| format!("{} ({})", location.prefix, files(&location.files));
    let places = offload.locations.iter().map(place).collect::<Vec<_>>().join(", ");
    if offload.uploads && request.method == b"PUT" && !is_part(request) {
        let areas: Vec<_> =
            offload.locations.iter().filter(|at| matches!(at.files, LocationFiles::Area(_))).collect();
        let places = areas.into_iter().map(place).collect::<Vec<_>>().join(", ");
        return vec![
            "the server is asked without the body, and again when the body is stored".to_owned(),
            format!("with a 2xx it names the file by X-Accel-Redirect, below {places}"),
        ];
    }
    vec![format!("if a 2xx has {header}, that file is sent instead, of those below {places}")]
}

/// Returns true if a request uploads a part of a file. Weir proxies such a request unchanged.
fn is_part(request: &RouteRequest<'_>) -> bool {
    let names: [&[u8]; 3] = [b"content-range", b"upload-complete", b"upload-offset"];
    names.into_iter().any(|name| request.headers.named(request.buf, name).next().is_some())
}

/// Returns the server that a key leads to.
fn by_key(pool: &PoolPlan, key: Option<Key>) -> Option<String> {
    if key.is_none() || !pool.algorithm.goes_by_key() {
        return None;
    }
    let candidate = |(slot, server): (usize, &ServerPlan)| Candidate {
        slot,
        rank: slot as u32,
        address: server.address.clone(),
        weight: server.weight,
        name_key: pool.hash.options.points.name_key(server.name.as_str()),
        portion: Portion::WHOLE,
        priority: server.priority,
        backup: server.backup,
        is_local: pool.zone.is_none() || server.zone == pool.zone,
        eligible: true,
        half_open: false,
        keeps_clients: true,
        connections_max: server.connections_max,
        load: Arc::new(ServerLoad::default()),
    };
    let candidates = pool.servers.iter().enumerate().map(candidate).collect();
    let roster = Roster::new(pool.scheduling(), candidates, None);
    match Picker::new(0).pick(&roster, &PickInput { key, ..PickInput::default() }) {
        Pick::Server(slot) => pool.servers.get(slot).map(|server| server.name.to_string()),
        Pick::Busy | Pick::Nobody => None,
    }
}
