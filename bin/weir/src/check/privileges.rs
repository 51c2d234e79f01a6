//! The user that the process becomes, and whether everything goes without the rights that it gives away.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use weir_config::plan::LogTarget;
use weir_config::{Diagnostic, Loaded};
use weir_net::UserIds;

use crate::run::{namespace_maps, starts_programs, user_ids};

/// Reports what does not go together with `weir.user` and `weir.sandbox`, and warns of files that the user cannot use.
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
    for listener in &loaded.plan.listeners {
        for certificate in listener.tls.iter().flat_map(|tls| &tls.certificates) {
            if may(&certificate.key, ids, READ) == Some(false) {
                let listener = listener.name.as_str();
                let message = format!(
                    "listener {listener}: tls: user {name} cannot read {}: a reload that reads it will fail",
                    certificate.key.display()
                );
                let mut warning = loaded.warning_at(&["listener", listener, "tls", "certificates"], message);
                warning.help = Some("give the user's group the right: chgrp, chmod g+r".to_owned());
                found.push(warning);
            }
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

/// Returns whether the permissions of a file let a user do that. `None`: there is no such file. The directories above do not count.
fn may(path: &Path, ids: &UserIds, right: u32) -> Option<bool> {
    let metadata = std::fs::metadata(path).ok()?;
    let shift = match () {
        () if metadata.uid() == ids.uid => 6,
        () if metadata.gid() == ids.gid || ids.groups.contains(&metadata.gid()) => 3,
        () => 0,
    };
    Some(metadata.mode() >> shift & right != 0)
}
