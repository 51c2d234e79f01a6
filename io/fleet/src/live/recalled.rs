//! Servers that were called back: one that drains again all the same is made to by its agent, and does not come back by being called.

use std::collections::HashMap;
use std::time::Duration;

use weir_model::ServerName;

use super::Member;

/// Since when they have been seen not to drain; `None` = not yet.
#[derive(Debug, Default)]
pub(super) struct Recalled(HashMap<ServerName, Option<Duration>>);

impl Recalled {
    /// It was called back just now.
    pub(super) fn called(&mut self, server: &ServerName) {
        self.0.insert(server.clone(), None);
    }

    /// It drains because we want it to.
    pub(super) fn drained(&mut self, server: &ServerName) {
        self.0.remove(server);
    }

    /// Forgets whoever has not drained for as long as `enough`: if it does then, that is somebody's new wish.
    pub(super) fn look(&mut self, now: Duration, members: &[Member], enough: Duration) {
        self.0.retain(|server, since| {
            let Some(member) = members.iter().find(|member| member.server == *server) else { return false };
            let back = (!member.draining).then(|| since.unwrap_or(now));
            *since = back;
            back.is_none_or(|back| now.saturating_sub(back) < enough)
        });
    }

    /// Whether it drains although it was called back.
    pub(super) fn refuses(&self, member: &Member) -> bool {
        member.draining && self.0.contains_key(&member.server)
    }
}
