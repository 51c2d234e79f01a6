//! Servers that were recalled from draining. If one drains again without an order, its agent causes it, and a
//! further recall has no effect.

use std::collections::HashMap;
use std::time::Duration;

use weir_model::ServerName;

use super::Member;

/// Recalled servers, each with the time since which it does not drain; `None` = it still drains.
#[derive(Debug, Default)]
pub(super) struct Recalled(HashMap<ServerName, Option<Duration>>);

impl Recalled {
    /// Records a recall.
    pub(super) fn called(&mut self, server: &ServerName) {
        self.0.insert(server.clone(), None);
    }

    /// Records that this process drains the server.
    pub(super) fn drained(&mut self, server: &ServerName) {
        self.0.remove(server);
    }

    /// Forgets servers that have not drained for the time `enough`. A later drain has another cause.
    pub(super) fn look(&mut self, now: Duration, members: &[Member], enough: Duration) {
        self.0.retain(|server, since| {
            let Some(member) = members.iter().find(|member| member.server == *server) else { return false };
            let back = (!member.draining).then(|| since.unwrap_or(now));
            *since = back;
            back.is_none_or(|back| now.saturating_sub(back) < enough)
        });
    }

    /// Returns true if the server drains although it was recalled.
    pub(super) fn refuses(&self, member: &Member) -> bool {
        member.draining && self.0.contains_key(&member.server)
    }
}
