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

/// One pool's stickiness, as all workers share it. Kept over reloads while its settings are the same.
#[derive(Debug)]
pub struct StickyState {
    pub(super) plan: StickyPlan,
    secret: Option<Secret>,
    /// For cookies.
    pub(super) seal: Option<Seal>,
    /// For whatever else a client is known by.
    pub(super) table: Option<StickyTable>,
    keys: StickyKeys,
    pub(super) expression: Option<Expression>,
    members: ArcSwap<Members>,
    started: Instant,
}

/// A server that clients can be bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Which server, unique in the process.
    pub uid: u64,
    /// Its place in the pool's rosters.
    pub slot: usize,
}

/// The servers there are.
#[derive(Debug, Default)]
struct Members {
    by_uid: HashMap<u64, Member>,
    /// For cookies.
    by_id: HashMap<Vec<u8>, Known>,
}

#[derive(Debug, Clone)]
struct Member {
    slot: usize,
    /// What stands for it in a cookie.
    id: Vec<u8>,
}

impl StickyState {
    /// `None` = the pool has none.
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
            // The config has compiled it before; one that cannot be compiled makes nobody sticky.
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

    /// Whether it would be the same if it were made of these.
    pub fn is_made_of(&self, plan: &StickyPlan, secret: Option<&Secret>) -> bool {
        self.plan == *plan && self.secret.as_ref() == secret
    }

    /// What a client is known by, for people.
    pub fn method(&self) -> &'static str {
        self.plan.by.name()
    }

    /// From now on these are the servers. Entries of those that have left are forgotten. Only the control plane calls
    /// this. O(servers) if nothing has changed, else also O(entries).
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

    /// How full the table is; `None` = clients carry what they are known by.
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

    /// What stands for a client in the table.
    pub(super) fn key(&self, text: &[u8]) -> StickyKey {
        self.keys.of(text)
    }

    /// The server of a cookie's id.
    pub(super) fn by_id(&self, id: &[u8]) -> Option<Known> {
        self.members.load().by_id.get(id).copied()
    }

    /// The server of a table's entry.
    pub(super) fn by_uid(&self, uid: u64) -> Option<Known> {
        self.members.load().by_uid.get(&uid).map(|member| Known { uid, slot: member.slot })
    }

    /// What stands for a server in a cookie.
    pub(super) fn id_of(&self, uid: u64) -> Option<Vec<u8>> {
        self.members.load().by_uid.get(&uid).map(|member| member.id.clone())
    }

    /// A table's time.
    pub(super) fn millis(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.started).as_millis() as u64
    }

    /// A key as an operator writes it, as the table has it: an address counts with its prefix.
    fn written(&self, text: &str) -> String {
        match (&self.plan.by, text.parse::<std::net::IpAddr>()) {
            (StickyBy::Source(rule, _), Ok(address)) => {
                weir_balance::masked_source(address, rule.ipv4_prefix, rule.ipv6_prefix).to_string()
            }
            _ => text.to_owned(),
        }
    }
}

/// Another for each table, so that nobody can choose keys that collide.
fn random_secret() -> [u64; 2] {
    let mut bytes = [0; 16];
    // Without randomness the system can do no TLS either; a table works all the same.
    let _ = rand::fill(&mut bytes);
    let (low, high) = bytes.split_at(8);
    [low, high].map(|half| half.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte)))
}
