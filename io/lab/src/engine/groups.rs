//! The control groups of this process, as far as they are visible.

use std::fs;
use std::path::{Path, PathBuf};

/// Control groups of this process: its own first, then their parents.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Groups {
    /// True for cgroup version 2, whose files have other names.
    pub(super) is_version_2: bool,
    /// Root of the hierarchy.
    pub(super) top: PathBuf,
    /// Directories of the groups.
    pub(super) paths: Vec<PathBuf>,
}

/// Returns the groups of this process for a controller: of version 1, of version 2, or of both.
pub(super) fn own_groups(controller: &str) -> Vec<Groups> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups(Path::new("/sys/fs/cgroup"), &own, controller)
}

/// Finds the groups in `own`, the content of /proc/PID/cgroup (cgroups(7)).
pub(super) fn groups(root: &Path, own: &str, controller: &str) -> Vec<Groups> {
    let found = own.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        // Version 2 names no controllers.
        let top = match controllers {
            "" => root.to_owned(),
            _ if controllers.split(',').any(|name| name == controller) => root.join(controller),
            _ => return None,
        };
        // In a container, the process's own group may be at the root, although its path outside is longer. Of
        // a group below it, only the end of the path exists here.
        let path = Path::new(path.trim_start_matches('/'));
        let without = |skipped| top.join(path.components().skip(skipped).collect::<PathBuf>());
        let group = (0..=path.components().count()).map(without).find(|group| group.is_dir())?;
        let paths = group.ancestors().take_while(|group| group.starts_with(&top)).map(Path::to_owned);
        Some(Groups { is_version_2: controllers.is_empty(), paths: paths.collect(), top })
    });
    found.collect()
}

/// Reads a file of a group that contains only a number.
pub(super) fn number<N: std::str::FromStr>(group: &Path, file: &str) -> Option<N> {
    fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()
}

/// Creates a directory of control groups with these files.
#[cfg(test)]
pub(super) fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}
