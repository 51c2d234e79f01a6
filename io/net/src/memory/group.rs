//! Memory limits of this process's control groups, as in a container or under systemd (cgroups(7)).

use std::fs;
use std::path::{Path, PathBuf};

/// Memory counts of a control group with a limit, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupMemory {
    /// Limit above which the kernel kills a process of the group.
    pub limit: u64,
    /// Memory in use without the page cache, which the kernel frees on demand.
    pub used: u64,
    /// Part of `used` for socket buffers; 0 if the kernel does not report it.
    pub sockets: u64,
}

impl GroupMemory {
    /// Returns the memory left below the limit.
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

/// Returns the control group with the least memory left, among the groups of this process and their parents;
/// `None` = none has a limit. Reads files of the kernel.
pub fn group_memory() -> Option<GroupMemory> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    of_groups(Path::new("/sys/fs/cgroup"), &own)
}

/// Finds the group. `own` is the list of the process's groups (/proc/PID/cgroup).
fn of_groups(root: &Path, own: &str) -> Option<GroupMemory> {
    let tightest = own.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        // Version 2 lists no controllers.
        let (top, files) = match controllers {
            "" => (root.to_owned(), &VERSION_2),
            _ if controllers.split(',').any(|name| name == "memory") => (root.join("memory"), &VERSION_1),
            _ => return None,
        };
        // In a container, the root directory may show the process's own group, whatever its outer name. For a
        // group below it, only the end of its name exists here.
        let path = Path::new(path.trim_start_matches('/'));
        let without = |skipped| top.join(path.components().skip(skipped).collect::<PathBuf>());
        let group = (0..=path.components().count()).map(without).find(|group| group.is_dir())?;
        let groups = group.ancestors().take_while(|group| group.starts_with(&top));
        groups.filter_map(|group| files.read(group)).min_by_key(GroupMemory::left)
    });
    tightest.min_by_key(GroupMemory::left)
}

/// Names of a control group's files.
struct Files {
    limit: &'static str,
    used: &'static str,
    /// Lines of memory.stat for the page cache.
    cache: [&'static str; 2],
}

const VERSION_2: Files =
    Files { limit: "memory.max", used: "memory.current", cache: ["inactive_file", "active_file"] };
const VERSION_1: Files = Files {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: ["total_inactive_file", "total_active_file"],
};

/// Lower bound of the numbers that mean "no limit" in version 1; no machine has that much memory.
const NO_LIMIT: u64 = 1 << 62;

impl Files {
    /// Reads the counts of a group; `None` = the group has no limit.
    fn read(&self, group: &Path) -> Option<GroupMemory> {
        let number = |name| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let limit = number(self.limit).filter(|limit| *limit < NO_LIMIT)?;
        let used = number(self.used)?;
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let of = |names: &[&str]| -> u64 {
            let lines = stat.lines().filter_map(|line| line.split_once(' '));
            let named = lines.filter(|(name, _)| names.contains(name));
            named.filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok()).sum()
        };
        let used = used.saturating_sub(of(&self.cache));
        Some(GroupMemory { limit, used, sockets: of(&["sock"]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates groups as a directory of files.
    fn groups(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_tightest_group_counts_and_what_is_kept_of_files_is_free() {
        let root = groups(&[
            ("a/memory.max", "1000\n"),
            ("a/memory.current", "900\n"),
            ("a/memory.stat", "anon 300\nfile 600\nsock 20\ninactive_file 400\nactive_file 200\n"),
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.current", "100\n"),
            ("a/b/c/memory.max", "800\n"),
            ("a/b/c/memory.current", "50\n"),
        ]);
        let left = |own: &str| of_groups(root.path(), own).map(|memory| memory.left());
        assert_eq!(left("0::/a/b/c\n"), Some(700));
        assert_eq!(left("0::/a/b\n"), Some(700), "of the group above");
        assert_eq!(left("0::/\n"), None);
        assert_eq!(left(""), None);
        let memory = of_groups(root.path(), "0::/a\n");
        assert_eq!(memory, Some(GroupMemory { limit: 1_000, used: 300, sockets: 20 }));
    }

    #[test]
    fn groups_of_version_1_and_those_of_a_container_are_found() {
        let root = groups(&[
            ("memory/memory.limit_in_bytes", "500\n"),
            ("memory/free/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/free/memory.usage_in_bytes", "1\n"),
            ("memory/memory.usage_in_bytes", "450\n"),
            ("memory/memory.stat", "active_file 7\ntotal_inactive_file 20\ntotal_active_file 5\n"),
            ("memory/sub/memory.limit_in_bytes", "300\n"),
            ("memory/sub/memory.usage_in_bytes", "250\n"),
            ("memory/sub/wide/memory.limit_in_bytes", "9000\n"),
            ("memory/sub/wide/memory.usage_in_bytes", "100\n"),
        ]);
        let left = |own: &str| of_groups(root.path(), own).map(|memory| memory.left());
        let own = "9:name=systemd:/x\n5:devices:/\n4:cpu,memory:/docker/0123\n0::/\n";
        assert_eq!(left(own), Some(75));
        assert_eq!(left("4:memory:/docker/0123/sub\n"), Some(50), "below the top");
        assert_eq!(left("4:memory:/docker/0123/sub/wide\n"), Some(50), "above its own");
        assert_eq!(left("4:memory:/docker/0123/gone\n"), Some(75));
        assert_eq!(left("4:memoryless:/\nnonsense\n"), None);
    }
}
