use weir_balance::{StickyKeys, StickyTable, StickyTableRule};
use weir_config::simulation::StickySessions;

/// Which client is bound to which server: the table that a pool of the proxy has for it. The client of a pool with cookies carries the
/// same with it.
#[derive(Debug)]
pub(crate) struct Bonds {
    table: StickyTable,
    keys: StickyKeys,
}

impl Bonds {
    pub(crate) fn new(rules: &StickySessions) -> Self {
        let rule = StickyTableRule {
            entries_max: rules.size as usize,
            // An expiry of less than a millisecond would be none of a session.
            expire_ms: (rules.expire.0 / 1_000_000).max(1),
        };
        // Nobody attacks it: the same keys in every run.
        Self { table: StickyTable::new(rule), keys: StickyKeys::new([1, 2]) }
    }

    /// The server that a client is bound to.
    pub(crate) fn find(&self, client: u64, now_ns: u64) -> Option<u32> {
        let server = self.table.find(self.keys.of(&client.to_be_bytes()), now_ns / 1_000_000)?;
        u32::try_from(server).ok()
    }

    pub(crate) fn bind(&self, client: u64, server: u32, now_ns: u64) {
        self.table.bind(self.keys.of(&client.to_be_bytes()), server.into(), now_ns / 1_000_000);
    }
}
