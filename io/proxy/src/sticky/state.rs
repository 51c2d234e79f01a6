//! A pool's sticky bindings, as all workers share them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use aws_lc_rs::rand;
use weir_balance::{StickyKey, StickyKeys, StickyTable, StickyTableCounts, StickyTableRule};
use weir_config::plan::{PoolPlan, StickyBy, StickyPlan};
use weir_http::expression::{Expression, ExpressionUse};

use super::{Seal, Secret};
use crate::state::ServerState;

/// Sticky bindings of one pool, shared by all workers. A reload keeps them while their settings are the same.
#[derive(Debug)]
pub struct StickyState {
    pub(super) plan: StickyPlan,
    secret: Option<Secret>,
    /// Cookie values, if clients are bound by a cookie.
    pub(super) seal: Option<Seal>,
    /// Table of the bindings by any other key.
    pub(super) table: Option<StickyTable>,
    keys: StickyKeys,
    pub(super) expression: Option<Expression>,
    members: ArcSwap<Members>,
    started: Instant,
}

/// A server that clients can be bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Id of the server, unique in the process.
    pub uid: u64,
    /// Slot of the server in the pool's rosters.
    pub slot: usize,
}

/// The current servers.
#[derive(Debug, Default)]
struct Members {
    by_uid: HashMap<u64, Member>,
    /// Servers by their id in cookies.
    by_id: HashMap<Vec<u8>, Known>,
}

#[derive(Debug, Clone)]
struct Member {
    slot: usize,
    /// Id of the server in cookies.
    id: Vec<u8>,
}

impl StickyState {
    /// Creates the state; `None` = the pool has no sticky rule.
    pub fn new(pool: &PoolPlan, secret: Option<Secret>) -> Option<Self> {
        let plan = pool.sticky.clone()?;
        let seal = match &plan.by {
            StickyBy::Cookie(cookie) => Some(Seal::new(cookie, &pool.name, secret.as_ref())),
            StickyBy::Learn(..) | StickyBy::Source(..) | StickyBy::Expression(..) => None,
        };
        let rule = plan.by.table().map(|table| StickyTableRule {
            entries_max: table.entries_max as usize,
            expire_ms: table.expire.0,
        });
        let expression = match &plan.by {
            // The configuration check has compiled it before. An expression that cannot be compiled binds no
            // client.
            StickyBy::Expression(text, _) => Expression::compile(text, ExpressionUse::Key).ok(),
            StickyBy::Cookie(_) | StickyBy::Learn(..) | StickyBy::Source(..) => None,
        };
        Some(Self {
            plan,
            secret,
            seal,
            table: rule.map(StickyTable::new),
            keys: StickyKeys::new(random_secret()),
            expression,
            members: ArcSwap::default(),
            started: Instant::now(),
        })
    }

    /// Returns true if this plan and secret would create the same state.
    pub fn is_made_of(&self, plan: &StickyPlan, secret: Option<&Secret>) -> bool {
        self.plan == *plan && self.secret.as_ref() == secret
    }

    /// Returns the kind of key that identifies clients, for display.
    pub fn method(&self) -> &'static str {
        self.plan.by.name()
    }

    /// Replaces the set of servers, and forgets table entries of removed servers. Only the control plane
    /// calls this. O(servers) if nothing has changed, otherwise also O(entries).
    pub fn follow(&self, servers: &[Option<Arc<ServerState>>]) {
        let before = self.members.load_full();
        let there = || servers.iter().flatten();
        let is_same = there().count() == before.by_uid.len()
            && there()
                .all(|server| before.by_uid.get(&server.uid).is_some_and(|known| known.slot == server.slot));
        if is_same {
            return;
        }
        let mut now = Members::default();
        for server in there() {
            let id = match (before.by_uid.get(&server.uid), &self.seal) {
                (Some(known), _) => known.id.clone(),
                (None, Some(seal)) => seal.id(&server.name),
                (None, None) => Vec::new(),
            };
            if self.seal.is_some() {
                now.by_id.entry(id.clone()).or_insert(Known { uid: server.uid, slot: server.slot });
            }
            now.by_uid.insert(server.uid, Member { slot: server.slot, id });
        }
        let now = Arc::new(now);
        self.members.store(Arc::clone(&now));
        if let Some(table) = &self.table
            && before.by_uid.keys().any(|uid| !now.by_uid.contains_key(uid))
        {
            table.retain(|uid| now.by_uid.contains_key(&uid));
        }
    }

    /// Returns the fill level of the table; `None` = clients carry their binding in a cookie.
    pub fn table_counts(&self) -> Option<StickyTableCounts> {
        self.table.as_ref().map(StickyTable::counts)
    }

    /// Forgets one client, or all. Returns how many were known; `None` = there is no table.
    pub fn forget(&self, key: Option<&str>) -> Option<usize> {
        let table = self.table.as_ref()?;
        Some(match key {
            Some(text) => usize::from(table.forget(self.key(self.written(text).as_bytes()))),
            None => table.retain(|_| false),
        })
    }

    /// Returns the table key of a client.
    pub(super) fn key(&self, text: &[u8]) -> StickyKey {
        self.keys.of(text)
    }

    /// Returns the server with this id in cookies.
    pub(super) fn by_id(&self, id: &[u8]) -> Option<Known> {
        self.members.load().by_id.get(id).copied()
    }

    /// Returns the server of a table entry.
    pub(super) fn by_uid(&self, uid: u64) -> Option<Known> {
        self.members.load().by_uid.get(&uid).map(|member| Known { uid, slot: member.slot })
    }

    /// Returns the id of a server in cookies.
    pub(super) fn id_of(&self, uid: u64) -> Option<Vec<u8>> {
        self.members.load().by_uid.get(&uid).map(|member| member.id.clone())
    }

    /// Returns the time in the table's unit.
    pub(super) fn millis(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.started).as_millis() as u64
    }

    /// Converts a key as an operator writes it to the form in the table: an address is masked to its prefix.
    fn written(&self, text: &str) -> String {
        match (&self.plan.by, text.parse::<std::net::IpAddr>()) {
            (StickyBy::Source(rule, _), Ok(address)) => {
                weir_balance::masked_source(address, rule.ipv4_prefix, rule.ipv6_prefix).to_string()
            }
            _ => text.to_owned(),
        }
    }
}

/// Returns a random secret for each table, so that clients cannot choose colliding keys.
fn random_secret() -> [u64; 2] {
    let mut bytes = [0; 16];
    // The table also works without randomness; a system without it could not use TLS either.
    let _ = rand::fill(&mut bytes);
    let (low, high) = bytes.split_at(8);
    [low, high].map(|half| half.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte)))
}
