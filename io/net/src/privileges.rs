//! Changes a process that was started as root to another user.

use std::io;

use rustix::process::{Gid, Uid, geteuid, getgid, getgroups, getuid};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_keep_capabilities};

/// Ids of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserIds {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Ids of the supplementary groups.
    pub groups: Vec<u32>,
}

/// Returns true if the process is root.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// Changes the whole process to another user permanently. The calling thread, and threads that it starts
/// later, keep one of root's capabilities: to bind ports below 1024. Other threads keep none.
///
/// # Errors
/// If the process lacks the permission, or if it does not have these ids afterwards. The change may then be
/// incomplete, and the process must end.
#[allow(unsafe_code)]
pub fn become_user(user: &UserIds) -> io::Result<()> {
    // Applies to this thread only, which does the work of reloads.
    set_keep_capabilities(true)?;
    set_ids(user)?;
    set_keep_capabilities(false)?;
    let ports = CapabilitySet::NET_BIND_SERVICE;
    set_capabilities(
        None,
        CapabilitySets { effective: ports, permitted: ports, inheritable: CapabilitySet::empty() },
    )?;
    // SAFETY: takes numbers only. It must fail: the change must be irreversible.
    let has_way_back = unsafe { libc::setresuid(0, 0, 0) } == 0;
    if has_way_back { Err(not_the_user()) } else { Ok(()) }
}

/// Sets these ids for all threads of the process, and reads them back.
#[allow(unsafe_code)]
pub(crate) fn set_ids(user: &UserIds) -> io::Result<()> {
    let check = |result: libc::c_int| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    let mut wanted = user.groups.clone();
    wanted.sort_unstable();
    wanted.dedup();
    // SAFETY: the pointer and the length are those of a vector that lives through the call. The C library's
    // calls, unlike those of the kernel, change all threads of the process.
    check(unsafe { libc::setgroups(wanted.len(), wanted.as_ptr()) })?;
    // SAFETY: takes numbers only.
    check(unsafe { libc::setresgid(user.gid, user.gid, user.gid) })?;
    // SAFETY: takes numbers only.
    check(unsafe { libc::setresuid(user.uid, user.uid, user.uid) })?;
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    let mut groups: Vec<u32> = getgroups()?.into_iter().map(Gid::as_raw).collect();
    groups.sort_unstable();
    match getuid() == uid && geteuid() == uid && getgid() == gid && groups == wanted {
        true => Ok(()),
        false => Err(not_the_user()),
    }
}

fn not_the_user() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "the process is not the user that it should be")
}
