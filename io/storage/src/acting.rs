//! Threads that act as a local user for the duration of a job, so that the kernel applies that user's
//! permissions.
//!
//! Only the effective ids and the groups of the one thread change. The kernel's system calls do that; the C
//! library's functions would change all threads. The real and the saved user id stay root's, so that the
//! thread can always return and no user can send it signals. Each change is verified by reading the ids back.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rustix::io;
use rustix::process::{Gid, Uid, getegid, geteuid, getgroups};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::StorageError;
use crate::namespace::IdMaps;

/// A user of this machine, with its groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalUser {
    uid: u32,
    gid: u32,
    /// Sorted, without duplicates.
    groups: Vec<u32>,
}

thread_local! {
    /// User that this thread acts as.
    static USER: RefCell<Option<Arc<LocalUser>>> = const { RefCell::new(None) };
    /// Set when this thread could not return to its own ids.
    static LOST: Cell<bool> = const { Cell::new(false) };
}

impl LocalUser {
    /// Creates a user with these ids and further groups. Returns `None` for root, because acting as root
    /// would limit nothing.
    pub fn new(uid: u32, gid: u32, groups: impl IntoIterator<Item = u32>) -> Option<Self> {
        let mut groups: Vec<u32> = groups.into_iter().collect();
        groups.sort_unstable();
        groups.dedup();
        // The largest number means "leave it unchanged" in system calls.
        let is_id = uid != u32::MAX && gid != u32::MAX && !groups.contains(&u32::MAX);
        (uid != 0 && is_id).then_some(Self { uid, gid, groups })
    }

    /// Checks whether this process can act as other users. Blocks for a moment.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub fn can_be_acted_as() -> Result<(), &'static str> {
        if !geteuid().is_root() {
            return Err("only a process that runs as root can act as other users");
        }
        let Some(nobody) = Self::new(NOBODY, NOBODY, []) else {
            return Err("there is no user to try it with");
        };
        let tried = std::thread::spawn(move || as_user(&Arc::new(nobody), || Ok(geteuid().as_raw())));
        match tried.join() {
            Ok(Ok(NOBODY)) => Ok(()),
            _ => Err("this process may not act as other users: it lacks CAP_SETUID or CAP_SETGID"),
        }
    }

    /// Checks whether this process can become this user. A process in a user namespace can become only users
    /// that are mapped into it.
    ///
    /// # Errors
    /// If the user or one of its groups is not mapped.
    pub fn check_mapped(&self, maps: &IdMaps) -> Result<(), String> {
        let lacks = |kind: &str, id: u32| {
            format!(
                "{kind} {id} is not among those that this process can act as: restart Weir, or name a range with the id in \
                 weir.act-as-ids"
            )
        };
        if !maps.has_user(self.uid) {
            return Err(lacks("user", self.uid));
        }
        match self.groups.iter().chain([&self.gid]).find(|gid| !maps.has_group(**gid)) {
            Some(gid) => Err(lacks("group", *gid)),
            None => Ok(()),
        }
    }

    /// Returns user 65534, which by convention owns no files.
    pub fn nobody() -> Option<Self> {
        Self::new(NOBODY, NOBODY, [])
    }
}

const NOBODY: u32 = 65_534;

/// Runs a job as a user. The thread gets its own ids back when the job ends or panics.
///
/// # Errors
/// Those of `job`; [`StorageError::Refused`] if the thread cannot become the user, and then the job is not
/// run.
pub(crate) fn as_user<T>(
    user: &Arc<LocalUser>,
    job: impl FnOnce() -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    let own = Own::take().map_err(|_| StorageError::Refused)?;
    let restored = Restored { own: &own };
    if own.become_user(user).is_err() {
        return Err(StorageError::Refused);
    }
    USER.set(Some(Arc::clone(user)));
    let done = job();
    drop(restored);
    done
}

/// Runs a part of a user's job as the process itself, for the process's own data, such as the file of locks.
pub(crate) fn as_self<T>(act: impl FnOnce() -> T) -> T {
    let Some(user) = USER.take() else { return act() };
    let again = Again { user: Some(user) };
    if become_root().is_err() {
        // The kernel always lets a thread take back its saved user id. The process must not go on with an
        // unknown user id.
        std::process::abort();
    }
    let done = act();
    drop(again);
    done
}

/// Returns whether this thread failed to get its own ids back. It must not run another job.
pub(crate) fn is_lost() -> bool {
    LOST.get()
}

/// Group ids of a thread that acts as the process itself.
struct Own {
    gid: Gid,
    groups: Vec<Gid>,
}

impl Own {
    fn take() -> io::Result<Self> {
        Ok(Self { gid: getegid(), groups: getgroups()? })
    }

    fn become_user(&self, user: &LocalUser) -> io::Result<()> {
        let groups: Vec<Gid> = user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
        let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
        set_thread_groups(&groups)?;
        set_thread_res_gid(None::<Gid>, gid, None::<Gid>)?;
        // Last, because afterwards the thread may not change its groups.
        set_thread_res_uid(None::<Uid>, uid, None::<Uid>)?;
        let mut now = getgroups()?;
        now.sort_unstable_by_key(|gid| gid.as_raw());
        let is_so = geteuid() == uid && getegid() == gid && now == groups;
        if is_so { Ok(()) } else { Err(io::Errno::PERM) }
    }

    fn restore(&self) -> io::Result<()> {
        become_root()?;
        set_thread_res_gid(None::<Gid>, self.gid, None::<Gid>)?;
        set_thread_groups(&self.groups)?;
        if getegid() == self.gid && getgroups()?.len() == self.groups.len() {
            Ok(())
        } else {
            Err(io::Errno::PERM)
        }
    }
}

fn become_root() -> io::Result<()> {
    set_thread_res_uid(None::<Uid>, Uid::ROOT, None::<Uid>)?;
    if geteuid().is_root() { Ok(()) } else { Err(io::Errno::PERM) }
}

/// Restores the thread's own ids when it is dropped.
struct Restored<'a> {
    own: &'a Own,
}

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        USER.set(None);
        if self.own.restore().is_err() {
            LOST.set(true);
        }
    }
}

/// Turns the thread back into the user when it is dropped. The group ids were never changed.
struct Again {
    user: Option<Arc<LocalUser>>,
}

impl Drop for Again {
    fn drop(&mut self) {
        let Some(user) = self.user.take() else { return };
        let uid = Uid::from_raw(user.uid);
        if set_thread_res_uid(None::<Uid>, uid, None::<Uid>).is_err() || geteuid() != uid {
            // Otherwise the rest of the job would run as root.
            std::process::abort();
        }
        USER.set(Some(user));
    }
}
