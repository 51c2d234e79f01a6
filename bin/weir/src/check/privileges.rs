//! Checks the user that the process switches to, and what its lack of privileges makes impossible.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use weir_config::plan::LogTarget;
use weir_config::{Diagnostic, Loaded};
use weir_net::UserIds;

use super::permissions::{self, NamedFile};
use crate::run::{namespace_maps, starts_programs, user_ids};

/// Reports settings that conflict with `weir.user` and `weir.sandbox`, and warns of files that the user
/// cannot use.
pub(super) fn check(loaded: &Loaded) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let plan = &loaded.plan;
    if let (true, Some(fleet)) = (plan.process.sandbox, starts_programs(plan)) {
        let message = format!("weir.sandbox: fleet {fleet} starts programs, which the sandbox forbids");
        let mut error = loaded.error_at(&["weir", "sandbox"], message);
        error.help = Some("add sandbox = false to [weir]".to_owned());
        found.push(error);
    }
    let Some(name) = &plan.process.user else { return found };
    match user_ids(&plan.process, name) {
        Ok(ids) => {
            if let Err(cause) = namespace_maps(plan, &ids) {
                found.push(loaded.error_at(&["weir", "user"], cause));
            }
            found.extend(files(loaded, name, &ids));
        }
        Err(cause) => found.push(loaded.error_at(&["weir", "user"], cause)),
    }
    found
}

fn files(loaded: &Loaded, name: &str, ids: &UserIds) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for NamedFile { path, keys, subject, .. } in permissions::named(loaded) {
        if may_read(&path, ids) == Some(false) {
            // A reload can keep the loaded certificates and keys if it cannot read these files.
            let is_kept = matches!(keys.first().map(String::as_str), Some("listener" | "pool"))
                && keys.iter().any(|key| key == "tls");
            let consequence = match is_kept {
                true => {
                    "a reload goes on with what is loaded of it, and one that is new or renewed needs a restart"
                }
                false => "a reload that reads it will be refused",
            };
            let message = format!("{subject}: user {name} cannot read {}: {consequence}", path.display());
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let mut warning = loaded.warning_at(&keys, message);
            warning.help = Some(
                "let the user's group read it, and enter the directories above: chgrp, chmod g+r, chmod g+x; ACME clients do so by a hook after each renewal"
                    .to_owned(),
            );
            found.push(warning);
        }
    }
    let log = match loaded.plan.access_log.as_ref().map(|log| &log.target) {
        Some(LogTarget::File(path)) => path.parent(),
        _ => None,
    };
    let state = loaded.plan.process.state.as_deref().and_then(Path::parent);
    let written = [
        (log, ["access-log", "to"], "the file cannot be opened anew"),
        (state, ["weir", "state"], "changes at runtime cannot be kept"),
    ];
    for (directory, keys, consequence) in written {
        if let Some(directory) = directory
            && may(directory, ids, WRITE) == Some(false)
        {
            let message = format!(
                "{}: user {name} cannot write to {}: {consequence}",
                keys.join("."),
                directory.display()
            );
            found.push(loaded.warning_at(&keys, message));
        }
    }
    found
}

const READ: u32 = 0o4;
const WRITE: u32 = 0o2;
const ENTER: u32 = 0o1;

/// Returns true if a user may read a file, by its permissions and those of all directories above it. Follows
/// symbolic links first. Returns `None` if the file does not exist.
fn may_read(path: &Path, ids: &UserIds) -> Option<bool> {
    let path = path.canonicalize().ok()?;
    let mut directories = path.ancestors().skip(1);
    let may_enter = directories.all(|directory| may(directory, ids, ENTER) == Some(true));
    Some(may_enter && may(&path, ids, READ)?)
}

/// Returns true if the permissions of a file grant the user `right`. Returns `None` if the file does not
/// exist. Ignores the directories above it.
fn may(path: &Path, ids: &UserIds, right: u32) -> Option<bool> {
    let metadata = std::fs::metadata(path).ok()?;
    let shift = match () {
        () if metadata.uid() == ids.uid => 6,
        () if metadata.gid() == ids.gid || ids.groups.contains(&metadata.gid()) => 3,
        () => 0,
    };
    Some(metadata.mode() >> shift & right != 0)
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use weir_testkit::TempDir;

    use super::*;

    #[test]
    fn a_file_can_be_read_only_by_who_may_enter_the_directories_that_it_is_in() {
        let root = TempDir::new().unwrap();
        let (archive, live) = (root.path().join("archive"), root.path().join("live"));
        create_dir(&archive).unwrap();
        write(archive.join("key"), "").unwrap();
        symlink(archive.join("key"), &live).unwrap();
        let set = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let stranger = UserIds { uid: 4_000_000, gid: 4_000_000, groups: Vec::new() };
        let may = |modes: [u32; 3]| {
            set(root.path(), modes[0]);
            set(&archive, modes[1]);
            set(&archive.join("key"), modes[2]);
            may_read(&live, &stranger)
        };
        assert_eq!(may([0o755, 0o755, 0o644]), Some(true));
        assert_eq!(may([0o755, 0o755, 0o600]), Some(false));
        assert_eq!(may([0o755, 0o700, 0o644]), Some(false), "behind a link");
        assert_eq!(may([0o711, 0o711, 0o644]), Some(true));
        assert_eq!(may_read(&root.path().join("missing"), &stranger), None);
    }
}
