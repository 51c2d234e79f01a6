//! The privileges of the process: the user that it changes to, and core dumps.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::lchown;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fchown, fstat, openat, openat2};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Gid, Resource, Rlimit, Uid, getegid, geteuid, getgroups, set_dumpable_behavior,
    setrlimit,
};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use weir_access::local::Accounts;
use weir_config::Plan;
use weir_config::plan::{LogTarget, ProcessPlan};
use weir_gateway::act_as_users;
use weir_model::BindAddress;
use weir_net::{Binder, UserIds, become_root_of_namespace, become_user, is_root};
use weir_proxy::access_log::open_file;

use super::monitor::{self, Ids, Monitor};

/// Core size limit of one byte. With it, the kernel neither writes the memory of a crashed process to a file
/// nor pipes it to a program (core(5), `kernel/coredump.c`).
const NO_CORE: u64 = 1;

/// The conventional number of the user and group `nobody`.
const NOBODY: u32 = 65_534;

/// The user that the process changes to after the start.
#[derive(Debug)]
pub(super) struct Successor {
    ids: UserIds,
    /// Name of the user, as in the config.
    name: String,
    /// Set if a storage area acts as local users.
    monitor: Option<Arc<Monitor>>,
    /// Open file of the access log.
    log: Option<File>,
}

/// Users and groups that are mapped into the user namespace of a process, in the format of
/// `/proc/PID/uid_map` and `/proc/PID/gid_map`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamespaceMaps {
    users: String,
    groups: String,
}

/// Prevents the kernel from writing the memory of the process, which holds keys, to disk after a crash.
pub(super) fn forbid_core_dumps() {
    let limit = Rlimit { current: Some(NO_CORE), maximum: Some(NO_CORE) };
    if let Err(cause) = setrlimit(Resource::Core, limit) {
        eprintln!("weir: core dumps cannot be forbidden: {cause}");
    }
}

impl Successor {
    /// Finds the user of the config. Returns `None` if the process keeps its current user. Blocks.
    ///
    /// # Errors
    /// If the user or the group does not exist, or if the process may not change to it.
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
        Ok(Some(Self { ids, name: name.clone(), monitor: None, log: None }))
    }

    /// Creates the missing directories of the state file, the control socket and the access log; they belong
    /// to the user. Blocks.
    ///
    /// # Errors
    /// If a directory cannot be created.
    pub(super) fn make_directories(&self, plan: &Plan) -> Result<(), String> {
        let files = [plan.process.control.as_deref(), plan.process.state.as_deref(), log_of(plan)];
        for directory in files.into_iter().flatten().filter_map(Path::parent) {
            // Starts with the outermost missing directory.
            let missing: Vec<&Path> = directory.ancestors().take_while(|it| !it.exists()).collect();
            for made in missing.into_iter().rev().filter(|it| !it.as_os_str().is_empty()) {
                let failed = |cause: io::Error| format!("weir.user: {}: {cause}", made.display());
                fs::create_dir(made).map_err(failed)?;
                lchown(made, Some(self.ids.uid), Some(self.ids.gid)).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Opens the file of the access log for [`Successor::take_log`]. Call it before
    /// [`Successor::enter_namespace`], while the process has only one thread. Blocks.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub(super) fn open_log(&mut self, plan: &Plan) -> Result<(), String> {
        if let Some(path) = log_of(plan) {
            let opened = self.opened_log(path);
            self.log = Some(opened.map_err(|cause| format!("access log: {}: {cause}", path.display()))?);
        }
        Ok(())
    }

    /// Takes the open file of the access log, if there is one.
    pub(super) fn take_log(&mut self) -> Option<File> {
        self.log.take()
    }

    /// Moves the process into a user namespace if an area acts as local users, and starts the monitor, which
    /// keeps root's privileges. The process must have only one thread. Blocks.
    ///
    /// # Errors
    /// If the users cannot be read, or if this machine does not permit user namespaces.
    pub(super) fn enter_namespace(&mut self, plan: &Plan) -> Result<(), String> {
        if let Some(NamespaceMaps { users, groups }) = namespace_maps(plan, &self.ids)? {
            self.monitor = Some(Arc::new(Monitor::start(users, groups)?));
        }
        Ok(())
    }

    /// Returns the binder for addresses that the process itself may not bind after the start.
    pub(super) fn binder(&self) -> Option<Arc<dyn Binder>> {
        self.monitor.clone().map(|monitor| monitor as _)
    }

    /// Opens the file of the access log. Tries it as the user first: the user's symbolic links may lead only
    /// to files that the user may write. If that is not permitted, opens the file as root and follows no
    /// symbolic link: otherwise the user could make root write to any file. Blocks.
    ///
    /// # Errors
    /// If both attempts fail.
    fn opened_log(&self, path: &Path) -> io::Result<File> {
        let refused = match as_user(&self.ids, || open_file(path)) {
            Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => cause,
            opened => return opened,
        };
        match open_without_links(path, &self.ids) {
            Err(cause) if Errno::from_io_error(&cause) == Some(Errno::LOOP) => Err(io::Error::new(
                cause.kind(),
                format!(
                    "user {}: {refused}; and root follows no symbolic link to it: name the file itself, or let the user write there",
                    self.name
                ),
            )),
            opened => opened,
        }
    }

    /// Changes to the user, permanently. The files that the process has created so far then belong to the
    /// user.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(super) fn take_over(self, plan: &Plan) -> Result<(), String> {
        let state = plan.process.state.as_deref();
        let lock = state.map(|state| state.with_added_extension("lock"));
        let of_admin = plan.admin.iter().flat_map(|admin| &admin.bind);
        let bound = plan.listeners.iter().flat_map(|listener| &listener.bind).chain(of_admin);
        let sockets = bound.filter_map(|address| match address {
            BindAddress::Unix(path) => Some(path.as_path()),
            BindAddress::Inet(_) => None,
        });
        let own = [plan.process.control.as_deref(), state, lock.as_deref()];
        for file in own.into_iter().flatten().chain(sockets) {
            // If this fails, a later use of the file reports it.
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

    /// Makes the user the owner of a file or socket that belongs to root. Does not follow symbolic links.
    fn give(&self, path: &Path) -> io::Result<()> {
        let opened = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        match &self.monitor {
            None => monitor::give(opened.as_fd(), self.ids.uid, self.ids.gid),
            Some(monitor) => monitor.give(opened.as_fd(), &self.ids),
        }
    }
}

/// Returns the path of the access log, or `None` if the log is not written to a file.
fn log_of(plan: &Plan) -> Option<&Path> {
    match &plan.access_log.as_ref()?.target {
        LogTarget::File(path) => Some(path),
        LogTarget::Stdout | LogTarget::Syslog { .. } => None,
    }
}

/// Runs `act` with the privileges of the user, in this thread only.
fn as_user<T>(ids: &UserIds, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let (own_gid, own_groups) = (getegid(), getgroups()?);
    let groups: Vec<Gid> = ids.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
    set_thread_groups(&groups)?;
    set_thread_res_gid(None::<Gid>, Gid::from_raw(ids.gid), None::<Gid>)?;
    // The user changes last, because that drops the privilege to change groups. On the way back it changes
    // first.
    set_thread_res_uid(None::<Uid>, Uid::from_raw(ids.uid), None::<Uid>)?;
    let done = act();
    set_thread_res_uid(None::<Uid>, Uid::ROOT, None::<Uid>)?;
    set_thread_res_gid(None::<Gid>, own_gid, None::<Gid>)?;
    set_thread_groups(&own_groups)?;
    done
}

/// Opens a file for appending as root; if it belongs to root, it then becomes the user's. Follows no symbolic
/// links. Refuses a file with several hard links, because it may be another file of root's.
fn open_without_links(path: &Path, ids: &UserIds) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP;
    let opened = openat2(CWD, path, flags, mode, ResolveFlags::NO_SYMLINKS)?;
    let found = fstat(&opened)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile || found.st_nlink != 1 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "not a regular file with one name"));
    }
    if found.st_uid == 0 {
        fchown(&opened, Some(Uid::from_raw(ids.uid)), Some(Gid::from_raw(ids.gid)))?;
    }
    Ok(File::from(opened))
}

/// Returns the maps of the user namespace for a plan, or `None` if no area acts as local users. Blocks.
///
/// # Errors
/// If the users of an area cannot be read or cannot be mapped.
pub(crate) fn namespace_maps(plan: &Plan, own: &UserIds) -> Result<Option<NamespaceMaps>, String> {
    let (mut users, mut groups) = (Ids::default(), Ids::default());
    // Anonymous clients act as the user `nobody`.
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
            if found.groups.iter().chain([&found.gid]).any(|gid| *gid == 0) {
                return Err(format!(
                    "storage area {area}: act-as: {name} has root's group (0), which a Weir with weir.user cannot take: \
                     name the user's groups as UID:GID,GID"
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

/// Returns the numeric ids of the user and the group in the config. Blocks.
pub(crate) fn user_ids(process: &ProcessPlan, name: &str) -> Result<UserIds, String> {
    let text = |path: &str| {
        let bytes = fs::read(path).map_err(|cause| format!("weir.user: {path}: {cause}"))?;
        // Comments in account files may be invalid UTF-8.
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
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

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
        let successor = Successor { ids, name: String::new(), monitor: None, log: None };
        for name in ["file", "link", "second"] {
            successor.give(&at(name)).unwrap();
        }
        let owner = |name: &str| fs::metadata(at(name)).unwrap().uid();
        assert_eq!([owner("file"), owner("secret"), owner("two names")], [65_534, 0, 0]);
    }

    #[test]
    fn a_log_is_the_users_and_no_link_of_the_users_leads_root_to_it() {
        if !is_root() {
            return untested("only root can open files as another user");
        }
        let ids = UserIds { uid: 65_534, gid: 65_534, groups: vec![65_534] };
        let successor = Successor { ids, name: "nobody".to_owned(), monitor: None, log: None };
        let (of_root, of_user) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let enter = |directory: &Path| fs::set_permissions(directory, fs::Permissions::from_mode(0o755));
        enter(of_root.path()).unwrap();
        lchown(of_user.path(), Some(65_534), Some(65_534)).unwrap();
        let (private, own) = (of_root.path().join("secret"), of_user.path().join("own.log"));
        fs::write(&private, "secret").unwrap();
        fs::set_permissions(&private, fs::Permissions::from_mode(0o600)).unwrap();
        let (link, linked) = (of_user.path().join("link.log"), of_user.path().join("linked"));
        symlink(&private, &link).unwrap();
        symlink(of_root.path(), &linked).unwrap();
        for path in [link, linked.join("secret"), linked.join("new.log")] {
            let refused = successor.opened_log(&path).unwrap_err().to_string();
            assert!(refused.contains("root follows no symbolic link"), "{refused}");
        }
        assert!(!of_root.path().join("new.log").exists());
        assert_eq!(fs::metadata(&private).unwrap().uid(), 0);
        // The user's own file, a symbolic link of the user's to it, and a file in a directory of root's.
        symlink("own.log", of_user.path().join("again.log")).unwrap();
        let new = of_root.path().join("new.log");
        for path in [own, of_user.path().join("again.log"), new] {
            successor.opened_log(&path).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().uid(), 65_534, "{}", path.display());
        }
        assert!(geteuid().is_root(), "the thread is itself again");
    }
}
