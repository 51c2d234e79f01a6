//! What the process needs of its rights, and gives away of them.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;

use rustix::process::{DumpableBehavior, Resource, Rlimit, geteuid, set_dumpable_behavior, setrlimit};
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

    /// Becomes the user, for good. The files that the process has made by now are the user's from then on.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn take_over(self, plan: &Plan) -> Result<(), String> {
        let own = |path: &Path| {
            // What cannot be given away is told where it is used.
            let _ = chown(path, Some(self.ids.uid), Some(self.ids.gid));
        };
        plan.process.control.as_deref().map(own);
        if let Some(state) = &plan.process.state {
            own(state);
        }
        if let Some(LogTarget::File(log)) = plan.access_log.as_ref().map(|log| &log.target) {
            own(log);
        }
        become_user(&self.ids).map_err(|cause| format!("weir.user: {}: {cause}", self.name))?;
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|cause| format!("weir.user: {}: {cause}", self.name))
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
