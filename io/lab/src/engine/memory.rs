//! How much memory this program can still get: what the machine has, or what the limit of a control group leaves it, as in a container.

use std::fs;
use std::path::{Path, PathBuf};

/// In bytes; `None` = nobody says.
pub(super) fn available() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = [of_machine(), of_groups(Path::new("/sys/fs/cgroup"), &groups)];
    left.into_iter().flatten().min()
}

/// What could be had without swapping (MemAvailable, proc_meminfo(5)).
fn of_machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// What the groups of this program and all above them leave: the least. `own` is their list (/proc/PID/cgroup, cgroups(7)).
fn of_groups(root: &Path, own: &str) -> Option<u64> {
    let left = own.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        // Version 2 names no controllers.
        let (top, files) = match controllers {
            "" => (root.to_owned(), &VERSION_2),
            _ if controllers.split(',').any(|name| name == "memory") => (root.join("memory"), &VERSION_1),
            _ => return None,
        };
        // In a container its own group may be what is at the top, whatever it is called outside; of the name of one below that, only the
        // end is found here.
        let path = Path::new(path.trim_start_matches('/'));
        let without = |skipped| top.join(path.components().skip(skipped).collect::<PathBuf>());
        let group = (0..=path.components().count()).map(without).find(|group| group.is_dir())?;
        let groups = group.ancestors().take_while(|group| group.starts_with(&top));
        groups.filter_map(|group| files.left(group)).min()
    });
    left.min()
}

/// Where a group says what.
struct Files {
    limit: &'static str,
    used: &'static str,
    /// Lines of memory.stat: what the kernel keeps of files, and gives up when somebody needs it.
    cache: [&'static str; 2],
}

const VERSION_2: Files =
    Files { limit: "memory.max", used: "memory.current", cache: ["inactive_file", "active_file"] };
const VERSION_1: Files = Files {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: ["total_inactive_file", "total_active_file"],
};

impl Files {
    /// `None` = the group has no limit.
    fn left(&self, group: &Path) -> Option<u64> {
        let number = |name| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let (limit, used) = (number(self.limit)?, number(self.used)?);
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let of = |line: &str| {
            let (name, bytes) = line.split_once(' ')?;
            self.cache.contains(&name).then(|| bytes.trim().parse::<u64>().ok()).flatten()
        };
        let cache: u64 = stat.lines().filter_map(of).sum();
        Some(limit.saturating_sub(used.saturating_sub(cache)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups in a directory, with what their files say.
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
            ("a/memory.stat", "anon 300\nfile 600\ninactive_file 400\nactive_file 200\n"),
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.current", "100\n"),
            ("a/b/c/memory.max", "800\n"),
            ("a/b/c/memory.current", "50\n"),
        ]);
        assert_eq!(of_groups(root.path(), "0::/a/b/c\n"), Some(700));
        assert_eq!(of_groups(root.path(), "0::/a/b\n"), Some(700), "of the group above");
        assert_eq!(of_groups(root.path(), "0::/\n"), None);
        assert_eq!(of_groups(root.path(), ""), None);
    }

    #[test]
    fn groups_of_version_1_and_those_of_a_container_are_found() {
        let root = groups(&[
            ("memory/memory.limit_in_bytes", "500\n"),
            ("memory/memory.usage_in_bytes", "450\n"),
            ("memory/memory.stat", "active_file 7\ntotal_inactive_file 20\ntotal_active_file 5\n"),
            ("memory/sub/memory.limit_in_bytes", "300\n"),
            ("memory/sub/memory.usage_in_bytes", "250\n"),
            ("memory/sub/wide/memory.limit_in_bytes", "9000\n"),
            ("memory/sub/wide/memory.usage_in_bytes", "100\n"),
        ]);
        let own = "9:name=systemd:/x\n5:devices:/\n4:cpu,memory:/docker/0123\n0::/\n";
        assert_eq!(of_groups(root.path(), own), Some(75));
        assert_eq!(of_groups(root.path(), "4:memory:/docker/0123/sub\n"), Some(50), "below the top");
        assert_eq!(of_groups(root.path(), "4:memory:/docker/0123/sub/wide\n"), Some(50), "above its own");
        assert_eq!(of_groups(root.path(), "4:memory:/docker/0123/gone\n"), Some(75));
        assert_eq!(of_groups(root.path(), "4:memoryless:/\nnonsense\n"), None);
    }

    #[test]
    fn this_machine_says_what_it_has() {
        assert!(available().unwrap() > 0);
    }
}
