//! Users and groups in a user namespace (user_namespaces(7)), where all unmapped ids look like one id.

use std::fs;

/// Id that the kernel shows for an unmapped user or group (`/proc/sys/kernel/overflowuid`).
const UNMAPPED: u32 = 65_534;

const USER_MAP: &str = "/proc/self/uid_map";
const GROUP_MAP: &str = "/proc/self/gid_map";

/// Users and groups that are mapped into the process's namespace.
#[derive(Debug)]
pub struct IdMaps {
    users: String,
    groups: String,
}

impl IdMaps {
    /// Reads the maps of this process. Blocks.
    ///
    /// # Errors
    /// If `/proc` does not show them.
    pub fn read() -> Result<Self, String> {
        let text = |path: &str| fs::read_to_string(path).map_err(|cause| format!("{path}: {cause}"));
        Ok(Self { users: text(USER_MAP)?, groups: text(GROUP_MAP)? })
    }

    pub(crate) fn has_user(&self, uid: u32) -> bool {
        is_mapped(uid, &self.users)
    }

    pub(crate) fn has_group(&self, gid: u32) -> bool {
        is_mapped(gid, &self.groups)
    }
}

/// Returns whether the id that the kernel shows may stand for another, unmapped id. Blocks if it is the id
/// for unmapped ones.
pub(crate) fn may_be_another(id: u32) -> bool {
    id == UNMAPPED && !has_everybody()
}

fn has_everybody() -> bool {
    let map = fs::read_to_string(USER_MAP).unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Returns whether a map contains an id. Each line of the map has the first id inside, the first id outside,
/// and their number.
fn is_mapped(id: u32, map: &str) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) => (first..first + count).contains(&id.into()),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::is_mapped;

    #[test]
    fn only_the_numbers_of_the_map_are_mapped() {
        let map = "         0      65534          1\n     61001      61001          2\n";
        let mapped = [0, 1, 61_000, 61_001, 61_002, 61_003].map(|id| is_mapped(id, map));
        assert_eq!(mapped, [true, false, false, true, true, false]);
        assert!(is_mapped(4_294_967_294, "0 0 4294967295"));
        assert!(!is_mapped(0, "") && !is_mapped(0, "none at all"));
    }
}
