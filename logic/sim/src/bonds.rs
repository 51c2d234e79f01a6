//! Bindings of simulated clients to servers.

use weir_balance::{StickyKey, StickyKeys, StickyTable, StickyTableRule};
use weir_config::simulation::StickySessions;

/// Bindings of clients to servers, in the table that a pool of the proxy uses. With cookies, the clients
/// carry the same data.
#[derive(Debug)]
pub(crate) struct Bonds {
    table: StickyTable,
    keys: StickyKeys,
    life_max_s: Option<u64>,
}

/// Binding of a client: its server and, if the life is limited, its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Session {
    server: u32,
    begun_s: u32,
}

impl Bonds {
    pub(crate) fn new(rules: &StickySessions) -> Self {
        let rule = StickyTableRule {
            entries_max: rules.size as usize,
            // A life of less than a millisecond would not be a session.
            expire_ms: (rules.expire.0 / 1_000_000).max(1),
        };
        Self {
            table: StickyTable::new(rule),
            // No client attacks the table, so the keys are the same in every run.
            keys: StickyKeys::new([1, 2]),
            life_max_s: rules.life_max.map(|life| life.0 / NS_PER_S),
        }
    }

    /// Returns the server that a client is bound to.
    pub(crate) fn find(&self, client: u64, now_ns: u64) -> Option<u32> {
        self.session(self.key(client), now_ns).map(|session| session.server)
    }

    pub(crate) fn bind(&self, client: u64, server: u32, now_ns: u64) {
        let key = self.key(client);
        let begun_s = match self.life_max_s {
            // A binding to another server starts over, as a cookie does.
            Some(_) => {
                let before = self.session(key, now_ns).filter(|session| session.server == server);
                before.map_or(seconds(now_ns) as u32, |session| session.begun_s)
            }
            None => 0,
        };
        self.table.bind(key, Session { server, begun_s }.into(), now_ns / NS_PER_MS);
    }

    /// Returns the binding of a client while it is valid.
    fn session(&self, key: StickyKey, now_ns: u64) -> Option<Session> {
        let session = Session::from(self.table.find(key, now_ns / NS_PER_MS)?);
        let age_s = seconds(now_ns).saturating_sub(session.begun_s.into());
        self.life_max_s.is_none_or(|life_max_s| age_s <= life_max_s).then_some(session)
    }

    fn key(&self, client: u64) -> StickyKey {
        self.keys.of(&client.to_be_bytes())
    }
}

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// Converts to seconds, which cookies use.
fn seconds(now_ns: u64) -> u64 {
    now_ns / NS_PER_S
}

/// Encodes a session in the table's value, where the proxy has a server id.
impl From<Session> for u64 {
    fn from(session: Session) -> Self {
        (Self::from(session.begun_s) << u32::BITS) | Self::from(session.server)
    }
}

impl From<u64> for Session {
    fn from(entry: u64) -> Self {
        Self { server: entry as u32, begun_s: (entry >> u32::BITS) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use weir_config::simulation::SimTime;

    use super::*;

    #[test]
    fn a_session_ends_after_its_life_though_it_is_used_and_begins_anew_with_another_server() {
        let life_max = Some(SimTime(10 * NS_PER_S));
        let bonds = Bonds::new(&StickySessions { life_max, ..StickySessions::default() });
        bonds.bind(7, 3, 0);
        for second in 1..=10 {
            assert_eq!(bonds.find(7, second * NS_PER_S), Some(3), "{second}");
            bonds.bind(7, 3, second * NS_PER_S);
        }
        assert_eq!(bonds.find(7, 11 * NS_PER_S), None);
        bonds.bind(7, 4, 11 * NS_PER_S);
        assert_eq!(bonds.find(7, 21 * NS_PER_S), Some(4));
        assert_eq!(bonds.find(7, 22 * NS_PER_S), None);
    }
}
