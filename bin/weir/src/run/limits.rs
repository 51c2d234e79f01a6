//! How many connections the descriptor limit allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Kept free for files, checks, names, control and admin connections.
const RESERVED: u64 = 256;
/// One in so many is for files that storage areas keep open: eight areas may have as many as any one takes.
const KEPT_FILES_SHARE: u64 = 8;

/// Raises the soft limit of open files to the hard one, and returns it.
pub(super) fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // If the kernel refuses, the old limit holds.
    let _ = setrlimit(Resource::Nofile, raised);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Client connections that `descriptors` allow: each may need one to its server, and splice a pipe now and then.
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
