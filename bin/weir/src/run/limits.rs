//! The number of connections that the limit on open files allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors reserved for files, health checks, name resolution, control connections and admin connections.
const RESERVED: u64 = 256;
/// Divisor for the descriptors reserved for files that storage areas keep open: one in eight. An area keeps
/// at most one in 64 (`weir_storage`), so this is enough for eight areas.
const KEPT_FILES_SHARE: u64 = 8;

/// Raises the soft limit of open files to the hard limit and returns the new soft limit.
pub(super) fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // If the kernel refuses, the old limit remains in force.
    let _ = setrlimit(Resource::Nofile, raised);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Returns the number of client connections that `descriptors` allow. Each one may need a connection to its
/// server, and at times a pipe for splice.
pub(super) fn connections_allowed(descriptors: u64) -> u32 {
    let kept = descriptors / KEPT_FILES_SHARE;
    let allowed = descriptors.saturating_sub(RESERVED + kept) * 2 / 5;
    u32::try_from(allowed).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_has_room_for_its_server_and_some_pipes() {
        assert_eq!(connections_allowed(20_256), 6_987);
        assert_eq!(connections_allowed(10), 1);
    }
}
