//! The rights of the process: the user that it becomes, and core dumps.

use std::os::fd::AsFd;
use std::os::unix::fs::lchown;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{DumpableBehavior, Resource, Rlimit, geteuid, set_dumpable_behavior, setrlimit};
use weir_access::local::Accounts;
use weir_config::Plan;
use weir_config::plan::{LogTarget, ProcessPlan};
use weir_gateway::act_as_users;
use weir_net::{Binder, UserIds, become_root_of_namespace, become_user, is_root};

use super::monitor::{self, Ids, Monitor};

/// With this limit the kernel writes no memory of a process that crashes, and gives none to a program either (core(5), `kernel/coredump.c`).
const NO_CORE: u64 = 1;

/// Who owns nothing, as far as anybody agrees on that.
const NOBODY: u32 = 65_534;

/// As whom the process is to run.
#[derive(Debug)]
pub(super) struct Successor {
    ids: UserIds,
    /// As in the config.
    name: String,
    /// With areas that act as local users.
    monitor: Option<Arc<Monitor>>,
}

/// Whom the user namespace of a process has, in the form of the files in `/proc/PID`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamespaceMaps {
    users: String,
    groups: String,
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
            if is_root() {
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
        Ok(Some(Self { ids, name: name.clone(), monitor: None }))
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

    /// Puts the process into a user namespace where areas act as local users, and has root's rights kept by a monitor. The process must have
    /// one thread. Blocks.
    ///
    /// # Errors
    /// The users cannot be read, or this machine does not permit it.
    pub(super) fn enter_namespace(&mut self, plan: &Plan) -> Result<(), String> {
        if let Some(NamespaceMaps { users, groups }) = namespace_maps(plan, &self.ids)? {
            self.monitor = Some(Arc::new(Monitor::start(users, groups)?));
        }
        Ok(())
    }

    /// Binds what the process may not bind after the start.
    pub(super) fn binder(&self) -> Option<Arc<dyn Binder>> {
        self.monitor.clone().map(|monitor| monitor as _)
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
            let _ = self.give(file);
        }
        let failed = |cause: io::Error| format!("weir.user: {}: {cause}", self.name);
        match &self.monitor {
            None => become_user(&self.ids),
            Some(monitor) => {
                monitor.settle(&self.ids).map_err(failed)?;
                become_root_of_namespace(self.ids.gid, &self.ids.groups)
            }
        }
        .map_err(failed)?;
        let behavior = match plan.process.core_dumps {
            true => DumpableBehavior::Dumpable,
            false => DumpableBehavior::NotDumpable,
        };
        set_dumpable_behavior(behavior).map_err(|cause| failed(cause.into()))
    }

    /// Makes a file or socket of root's the user's. Targets of links stay as they are.
    fn give(&self, path: &Path) -> io::Result<()> {
        let opened = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        match &self.monitor {
            None => monitor::give(opened.as_fd(), self.ids.uid, self.ids.gid),
            Some(monitor) => monitor.give(opened.as_fd(), &self.ids),
        }
    }
}

/// Returns the maps of the user namespace for a plan. `None`: no area acts as local users. Blocks.
///
/// # Errors
/// The users of an area cannot be read or cannot be mapped.
pub(crate) fn namespace_maps(plan: &Plan, own: &UserIds) -> Result<Option<NamespaceMaps>, String> {
    let (mut users, mut groups) = (Ids::default(), Ids::default());
    // Who has not said who they are is nobody.
    users.add(NOBODY..=NOBODY);
    groups.add(NOBODY..=NOBODY);
    for range in &plan.process.act_as_ids {
        users.add(range.first..=range.last);
        groups.add(range.first..=range.last);
    }
    let acting = plan.storage_areas.iter().filter_map(|area| Some((&area.name, area.act_as.as_ref()?)));
    let mut is_needed = false;
    for (area, act_as) in acting {
        is_needed = true;
        for (name, found) in act_as_users(act_as).map_err(|cause| format!("storage area {area}: {cause}"))? {
            if found.uid == own.uid {
                return Err(format!(
                    "storage area {area}: act-as: {name} is the user of Weir itself (weir.user)"
                ));
            }
            users.add(found.uid..=found.uid);
            found.groups.iter().chain([&found.gid]).for_each(|gid| groups.add(*gid..=*gid));
        }
    }
    own.groups.iter().chain([&own.gid]).for_each(|gid| groups.add(*gid..=*gid));
    match is_needed {
        true => Ok(Some(NamespaceMaps { users: users.user_map(own.uid)?, groups: groups.group_map()? })),
        false => Ok(None),
    }
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
        let successor = Successor { ids, name: String::new(), monitor: None };
        for name in ["file", "link", "second"] {
            successor.give(&at(name)).unwrap();
        }
        let owner = |name: &str| fs::metadata(at(name)).unwrap().uid();
        assert_eq!([owner("file"), owner("secret"), owner("two names")], [65_534, 0, 0]);
    }
}
