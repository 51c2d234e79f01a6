//! The rights of the process: the user that it becomes, and core dumps.

use std::os::unix::fs::lchown;
use std::path::Path;
use std::{fs, io};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, chownat, fstat, openat};
use rustix::process::{
    DumpableBehavior, Gid, Resource, Rlimit, Uid, geteuid, set_dumpable_behavior, setrlimit,
};
use weir_access::local::Accounts;
use weir_config::Plan;
use weir_config::plan::{LogTarget, ProcessPlan};
use weir_net::{UserIds, become_user, is_root};

/// With this limit the kernel writes no memory of a process that crashes, and gives none to a program either (core(5), `kernel/coredump.c`).
const NO_CORE: u64 = 1;

/// As whom the process is to run.
#[derive(Debug)]
pub(super) struct Successor {
    ids: UserIds,
    /// As in the config.
    name: String,
}

/// Keeps the memory of the process, with its keys, from being written to disk when it crashes.
pub(super) fn forbid_core_dumps() {
    let limit = Rlimit { current: Some(NO_CORE), maximum: Some(NO_CORE) };
    if let Err(cause) = setrlimit(Resource::Core, limit) {
        eprintln!("weir: core dumps cannot be forbidden: {cause}");
    }
}

impl Successor {
    /// Finds the user of the config. `None`: the process stays who it is. Blocks.
    ///
    /// # Errors
    /// There is no such user or group, or the process cannot become it.
    pub(super) fn find(plan: &Plan) -> Result<Option<Self>, String> {
        let Some(name) = &plan.process.user else {
            if is_root() && plan.storage_areas.iter().all(|area| area.act_as.is_none()) {
                eprintln!(
                    "weir: runs as root with all rights: [weir] user = \"...\" would give them away after the start"
                );
            }
            return Ok(None);
        };
        let ids = user_ids(&plan.process, name)?;
        if geteuid().as_raw() == ids.uid {
            return Ok(None);
        }
        if !is_root() {
            return Err(format!(
                "weir.user: only root can become {name}: start Weir as root, or as that user without this key"
            ));
        }
        Ok(Some(Self { ids, name: name.clone() }))
    }

    /// Makes the directories of the state file and of the control socket where they are missing, as the user's. Blocks.
    ///
    /// # Errors
    /// One cannot be made.
    pub(super) fn make_directories(&self, plan: &Plan) -> Result<(), String> {
        let files = [plan.process.control.as_deref(), plan.process.state.as_deref()];
        for directory in files.into_iter().flatten().filter_map(Path::parent) {
            // From the outermost that is missing.
            let missing: Vec<&Path> = directory.ancestors().take_while(|it| !it.exists()).collect();
            for made in missing.into_iter().rev().filter(|it| !it.as_os_str().is_empty()) {
                let failed = |cause: io::Error| format!("weir.user: {}: {cause}", made.display());
                fs::create_dir(made).map_err(failed)?;
                lchown(made, Some(self.ids.uid), Some(self.ids.gid)).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Becomes the user, for good. The files that the process has made by now are the user's from then on.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn take_over(self, plan: &Plan) -> Result<(), String> {
        let log = match plan.access_log.as_ref().map(|log| &log.target) {
            Some(LogTarget::File(log)) => Some(log.as_path()),
            _ => None,
        };
        let state = plan.process.state.as_deref();
        let lock = state.map(|state| state.with_added_extension("lock"));
        for file in [plan.process.control.as_deref(), state, lock.as_deref(), log].into_iter().flatten() {
            // A later use of the file reports the failure.
            let _ = give(file, &self.ids);
        }
        become_user(&self.ids).map_err(|cause| format!("weir.user: {}: {cause}", self.name))?;
        let behavior = match plan.process.core_dumps {
            true => DumpableBehavior::Dumpable,
            false => DumpableBehavior::NotDumpable,
        };
        set_dumpable_behavior(behavior).map_err(|cause| format!("weir.user: {}: {cause}", self.name))
    }
}

/// Makes a file or socket of root's the user's. Files of other users and targets of links stay as they are:
/// the directory may belong to the user, who could have put a link to any file of root's there.
fn give(path: &Path, ids: &UserIds) -> io::Result<()> {
    let opened = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let found = fstat(&opened)?;
    let is_own = found.st_uid == 0 && found.st_nlink == 1;
    let kind = FileType::from_raw_mode(found.st_mode);
    if !is_own || !matches!(kind, FileType::RegularFile | FileType::Socket) {
        return Ok(());
    }
    let (uid, gid) = (Uid::from_raw(ids.uid), Gid::from_raw(ids.gid));
    chownat(&opened, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?;
    Ok(())
}

/// Returns the numbers of the user and the group of the config. Blocks.
pub(crate) fn user_ids(process: &ProcessPlan, name: &str) -> Result<UserIds, String> {
    let text = |path: &str| {
        let bytes = fs::read(path).map_err(|cause| format!("weir.user: {path}: {cause}"))?;
        // Comments in the files of accounts need not be text.
        Ok::<_, String>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let accounts = Accounts::parse(&text("/etc/passwd")?, &text("/etc/group")?);
    let found = accounts.find(name).map_err(|cause| format!("weir.user: {cause}"))?;
    let gid = match &process.group {
        Some(group) => accounts.find_group(group).map_err(|cause| format!("weir.group: {cause}"))?,
        None => found.gid,
    };
    Ok(UserIds { uid: found.uid, gid, groups: found.groups })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use weir_testkit::{TempDir, untested};

    use super::*;

    #[test]
    fn files_of_roots_are_given_to_the_user_and_not_what_links_lead_to() {
        if !is_root() {
            return untested("only root can give files away");
        }
        let ids = UserIds { uid: 65_534, gid: 65_534, groups: Vec::new() };
        let directory = TempDir::new().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), "").unwrap();
        fs::write(at("secret"), "").unwrap();
        fs::write(at("two names"), "").unwrap();
        fs::hard_link(at("two names"), at("second")).unwrap();
        symlink(at("secret"), at("link")).unwrap();
        for name in ["file", "link", "second"] {
            give(&at(name), &ids).unwrap();
        }
        let owner = |name: &str| fs::metadata(at(name)).unwrap().uid();
        assert_eq!([owner("file"), owner("secret"), owner("two names")], [65_534, 0, 0]);
    }
}
