//! The selection of metrics by a query.

/// Selection of metrics: `?scope=process,pool`, as in HAProxy's exporter. With many servers, their metrics
/// can be fetched less often than the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    pub(super) process: bool,
    pub(super) listener: bool,
    pub(super) pool: bool,
    pub(super) fleet: bool,
    pub(super) server: bool,
    pub(super) storage: bool,
}

impl Scope {
    /// All metrics.
    pub const ALL: Self =
        Self { process: true, listener: true, pool: true, fleet: true, server: true, storage: true };
    const NONE: Self =
        Self { process: false, listener: false, pool: false, fleet: false, server: false, storage: false };

    /// Parses a URL's query. Ignores keys other than `scope`; without `scope` everything is selected.
    pub fn parse(query: &str) -> Result<Self, String> {
        let mut scope = None;
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        for (_, values) in pairs.filter(|(key, _)| *key == "scope") {
            let scope = scope.get_or_insert(Self::NONE);
            for value in values.split(',') {
                match value {
                    "process" => scope.process = true,
                    "listener" => scope.listener = true,
                    "pool" => scope.pool = true,
                    "fleet" => scope.fleet = true,
                    "server" => scope.server = true,
                    "storage" => scope.storage = true,
                    _ => {
                        let message =
                            "scope is one or more of process, listener, pool, fleet, server, storage";
                        return Err(message.to_owned());
                    }
                }
            }
        }
        Ok(scope.unwrap_or(Self::ALL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_selects_and_its_absence_does_not() {
        assert_eq!(Scope::parse(""), Ok(Scope::ALL));
        assert_eq!(Scope::parse("x=1"), Ok(Scope::ALL));
        assert_eq!(Scope::parse("scope=pool"), Ok(Scope { pool: true, ..Scope::NONE }));
        let both = Scope { process: true, server: true, ..Scope::NONE };
        assert_eq!(Scope::parse("scope=process,server"), Ok(both));
        assert_eq!(Scope::parse("scope=process&scope=server"), Ok(both));
        assert!(Scope::parse("scope=frontend").is_err());
        assert!(Scope::parse("scope=").is_err());
    }
}
