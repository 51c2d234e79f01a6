//! A user namespace around the process (user_namespaces(7)): in it the process has rights over the users and groups that are mapped
//! into it, and over nobody and nothing else.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, remove_capability_from_bounding_set, set_capabilities,
};

use crate::privileges::{UserIds, set_ids};

/// What it takes to act as other users, and to keep in order what files of theirs need.
const RIGHTS_OVER_USERS: CapabilitySet = CapabilitySet::SETUID
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// Puts the process into a user namespace of its own, in which nobody is mapped yet. It must have one thread. Outside of the namespace it
/// has no rights from here on but those of its user id.
///
/// # Errors
/// The kernel permits no namespace, or the process has several threads.
#[allow(unsafe_code)]
pub fn enter_user_namespace() -> io::Result<()> {
    // SAFETY: of a user namespace alone; file descriptors and memory stay shared as they are.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }?;
    Ok(())
}

/// Gives up all rights within the namespace but those over the users and groups that are mapped into it. Threads that are started
/// afterwards have no more.
///
/// # Errors
/// The kernel refuses.
pub fn keep_rights_over_users() -> io::Result<()> {
    for capability in CapabilitySet::all().difference(RIGHTS_OVER_USERS) {
        match remove_capability_from_bounding_set(capability) {
            // An older kernel does not know the newest.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(cause) => return Err(cause.into()),
        }
    }
    let (effective, permitted) = (RIGHTS_OVER_USERS, RIGHTS_OVER_USERS);
    set_capabilities(None, CapabilitySets { effective, permitted, inheritable: CapabilitySet::empty() })?;
    Ok(())
}

/// Makes all threads of a process in a user namespace the user that is mapped to root there, with a group and further groups that are
/// mapped. What the process was outside, it can never be again: that is not mapped.
///
/// # Errors
/// One of them is not mapped.
pub fn become_root_of_namespace(gid: u32, groups: &[u32]) -> io::Result<()> {
    set_ids(&UserIds { uid: 0, gid, groups: groups.to_owned() })
}

/// Lets the signals that end a process, or have it do something, pass: for a process that ends with another one.
#[allow(unsafe_code)]
pub fn ignore_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2] {
        // SAFETY: to ignore a signal takes no handler. It fails only for numbers that are none.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}
