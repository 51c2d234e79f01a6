//! The control groups that this program is in, as far as its view of the machine shows them.

use std::fs;
use std::path::{Path, PathBuf};

/// Groups that hold this program: its own first, then those above it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Groups {
    /// Files have other names in version 1.
    pub(super) is_version_2: bool,
    /// Where the hierarchy begins.
    pub(super) top: PathBuf,
    /// Their directories.
    pub(super) paths: Vec<PathBuf>,
}

/// Those of this program for a controller: of version 1, of version 2, or of both.
pub(super) fn own_groups(controller: &str) -> Vec<Groups> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups(Path::new("/sys/fs/cgroup"), &own, controller)
}

/// `own` is the list of /proc/PID/cgroup (cgroups(7)).
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
        // In a container its own group may be what is at the top, whatever it is called outside; of the name of one below that, only the
        // end is found here.
        let path = Path::new(path.trim_start_matches('/'));
        let without = |skipped| top.join(path.components().skip(skipped).collect::<PathBuf>());
        let group = (0..=path.components().count()).map(without).find(|group| group.is_dir())?;
        let paths = group.ancestors().take_while(|group| group.starts_with(&top)).map(Path::to_owned);
        Some(Groups { is_version_2: controllers.is_empty(), paths: paths.collect(), top })
    });
    found.collect()
}

/// A number that is all there is in a file of a group.
pub(super) fn number<N: std::str::FromStr>(group: &Path, file: &str) -> Option<N> {
    fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()
}

/// Control groups in a directory, with what their files say.
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
