//! Threads that act as a local user for the length of a job, so that the kernel judges what they do with files as that user's.
//!
//! Only the effective ids and the groups of the one thread change (the calls of the kernel, not those of the C library, which
//! would change all threads); the real and the saved user id stay root's, so that the way back is always open, and no user can
//! send signals to the thread. Each change is read back.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rustix::io;
use rustix::process::{Gid, Uid, getegid, geteuid, getgroups};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::{StorageError, namespace};

/// Somebody whom the kernel knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalUser {
    uid: u32,
    gid: u32,
    /// In order, each once.
    groups: Vec<u32>,
}

thread_local! {
    /// As whom this thread acts.
    static USER: RefCell<Option<Arc<LocalUser>>> = const { RefCell::new(None) };
    /// This thread could not become itself again.
    static LOST: Cell<bool> = const { Cell::new(false) };
}

impl LocalUser {
    /// With these ids and further groups. `None` for root: acting as root would be no limit.
    pub fn new(uid: u32, gid: u32, groups: impl IntoIterator<Item = u32>) -> Option<Self> {
        let mut groups: Vec<u32> = groups.into_iter().collect();
        groups.sort_unstable();
        groups.dedup();
        // The largest number means "leave it as it is".
        let is_id = uid != u32::MAX && gid != u32::MAX && !groups.contains(&u32::MAX);
        (uid != 0 && is_id).then_some(Self { uid, gid, groups })
    }

    /// Whether this process can act as others. Blocks for a moment.
    ///
    /// # Errors
    /// Why not.
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

    /// Whether this process can become this user: one in a user namespace can become those who are mapped into it. Blocks.
    ///
    /// # Errors
    /// Why not.
    pub fn check_mapped(&self) -> Result<(), String> {
        let lacks = |kind: &str, id: u32| {
            format!(
                "{kind} {id} is not among those whom this process can act as since its start: restart it, or name such numbers in \
                 weir.act-as-ids before"
            )
        };
        if !namespace::has_user(self.uid) {
            return Err(lacks("user", self.uid));
        }
        match self.groups.iter().chain([&self.gid]).find(|gid| !namespace::has_group(**gid)) {
            Some(gid) => Err(lacks("group", *gid)),
            None => Ok(()),
        }
    }

    /// Who owns nothing, as far as anybody agrees on that.
    pub fn nobody() -> Option<Self> {
        Self::new(NOBODY, NOBODY, [])
    }
}

const NOBODY: u32 = 65_534;

/// Does something as a user, and is itself again when it is done or panics.
///
/// # Errors
/// That of `job`, or [`StorageError::Refused`] if the thread cannot become the user: then nothing is done.
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

/// Does something as the process itself, amid a job that is done as a user: what is the process's own business, such as
/// the file of locks.
pub(crate) fn as_self<T>(act: impl FnOnce() -> T) -> T {
    let Some(user) = USER.take() else { return act() };
    let again = Again { user: Some(user) };
    if become_root().is_err() {
        // The kernel always lets a thread take back its saved user id. Going on as nobody knows who must not be.
        std::process::abort();
    }
    let done = act();
    drop(again);
    done
}

/// Whether this thread is not what it was before its job: it must not do another one.
pub(crate) fn is_lost() -> bool {
    LOST.get()
}

/// What a thread is when it acts as nobody else.
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
        // Last, because it takes the right to the others away.
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

/// Makes the thread itself again.
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

/// Makes the thread the user again. Group ids have stayed the user's.
struct Again {
    user: Option<Arc<LocalUser>>,
}

impl Drop for Again {
    fn drop(&mut self) {
        let Some(user) = self.user.take() else { return };
        let uid = Uid::from_raw(user.uid);
        if set_thread_res_uid(None::<Uid>, uid, None::<Uid>).is_err() || geteuid() != uid {
            // The rest of the job would be done as root.
            std::process::abort();
        }
        USER.set(Some(user));
    }
}
