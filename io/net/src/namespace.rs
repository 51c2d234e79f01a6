//! A user namespace for the process (user_namespaces(7)). In it the process has rights over the mapped users
//! and groups only.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, remove_capability_from_bounding_set, set_capabilities,
};

use crate::privileges::{UserIds, set_ids};

/// Capabilities to act as other users and to manage their files.
const RIGHTS_OVER_USERS: CapabilitySet = CapabilitySet::SETUID
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// Moves the process into its own user namespace, in which no user is mapped yet. The process must have one
/// thread. Outside the namespace it keeps only the rights of its user id.
///
/// # Errors
/// If the kernel permits no namespace, or if the process has several threads.
#[allow(unsafe_code)]
pub fn enter_user_namespace() -> io::Result<()> {
    // SAFETY: of a user namespace alone; file descriptors and memory stay shared as they are.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }?;
    Ok(())
}

/// Drops all capabilities within the namespace except those over mapped users and groups. Threads that start
/// later have no more capabilities.
///
/// # Errors
/// If the kernel refuses.
pub fn keep_rights_over_users() -> io::Result<()> {
    for capability in CapabilitySet::all().difference(RIGHTS_OVER_USERS) {
        match remove_capability_from_bounding_set(capability) {
            // Older kernels do not know the newest capabilities.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(cause) => return Err(cause.into()),
        }
    }
    let (effective, permitted) = (RIGHTS_OVER_USERS, RIGHTS_OVER_USERS);
    set_capabilities(None, CapabilitySets { effective, permitted, inheritable: CapabilitySet::empty() })?;
    Ok(())
}

/// Changes all threads to the user that is mapped to root in the namespace, with a mapped group and mapped
/// supplementary groups. The process cannot return to its outer user, which is not mapped.
///
/// # Errors
/// If one of the ids is not mapped.
pub fn become_root_of_namespace(gid: u32, groups: &[u32]) -> io::Result<()> {
    set_ids(&UserIds { uid: 0, gid, groups: groups.to_owned() })
}

/// Ignores the signals that end or control a process. For a process that ends together with another one.
#[allow(unsafe_code)]
pub fn ignore_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2] {
        // SAFETY: to ignore a signal takes no handler. It fails only for invalid numbers.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}
