use crate::{PoolSnapshot, ServerSnapshot};

/// Selects what a face shows by a text that names contain, in any case. An empty text selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameFilter(String);

impl NameFilter {
    /// Selects names that contain `text`; blanks around it do not count.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_lowercase())
    }

    /// Returns whether everything is selected.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text, in small letters.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns whether this name is selected.
    pub fn matches(&self, name: &str) -> bool {
        self.is_empty() || name.to_lowercase().contains(&self.0)
    }

    /// Returns the selected servers of a pool: all of them if the name of the pool is.
    pub fn servers<'a>(&self, pool: &'a PoolSnapshot) -> Vec<&'a ServerSnapshot> {
        let is_whole = self.matches(&pool.name);
        pool.servers.iter().filter(|server| is_whole || self.matches(&server.name)).collect()
    }

    /// Returns whether a pool is shown: its own name or that of one of its servers is selected.
    pub fn shows(&self, pool: &PoolSnapshot) -> bool {
        self.matches(&pool.name) || pool.servers.iter().any(|server| self.matches(&server.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(name: &str, servers: &[&str]) -> PoolSnapshot {
        let server = |name: &&str| ServerSnapshot { name: (*name).to_owned(), ..ServerSnapshot::default() };
        PoolSnapshot {
            name: name.to_owned(),
            servers: servers.iter().map(server).collect(),
            ..PoolSnapshot::default()
        }
    }

    fn shown(filter: &str, pool: &PoolSnapshot) -> Option<Vec<String>> {
        let filter = NameFilter::new(filter);
        filter.shows(pool).then(|| filter.servers(pool).iter().map(|server| server.name.clone()).collect())
    }

    #[test]
    fn the_name_of_a_pool_selects_all_its_servers_and_that_of_a_server_only_this_one() {
        let shop = pool("shop", &["till-1", "till-2", "Spare"]);
        assert_eq!(shown("SHO", &shop).unwrap(), ["till-1", "till-2", "Spare"]);
        assert_eq!(shown(" spare ", &shop).unwrap(), ["Spare"]);
        assert_eq!(shown("till", &shop).unwrap(), ["till-1", "till-2"]);
        assert_eq!(shown("mail", &shop), None);
        assert_eq!(shown("", &pool("empty", &[])).unwrap(), [""; 0]);
    }
}
