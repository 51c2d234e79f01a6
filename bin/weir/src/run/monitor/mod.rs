//! Rights of root for a process that has none: storage areas whose files are read and written as local users (`act-as`), in a Weir that
//! becomes a user itself.
//!
//! Such a process lives in a user namespace, into which the users of the areas' maps are mapped, and nobody else: it can act as these, and
//! has no right of root's. What takes one (the maps themselves, files that were made as root, ports below 1024) a small process of its own
//! does for it, the monitor, which is asked over a socket. After the start that binds ports and does nothing else.

mod child;
mod id_map;
mod message;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use weir_net::{Binder, UserIds, enter_user_namespace, keep_rights_over_users};

use message::{Answer, Request, receive, send};

pub(crate) use child::{give, monitor};
pub(crate) use id_map::Ids;

/// It has nothing to wait for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The monitor of this process.
pub(super) struct Monitor {
    /// One asks at a time. `None`: it did not answer, and is asked no more.
    socket: Mutex<Option<OwnedFd>>,
    _process: Child,
}

impl Monitor {
    /// Starts the monitor, and puts this process, which must have one thread, into a namespace with the users and groups of the maps
    /// (user_namespaces(7)).
    ///
    /// # Errors
    /// What this machine does not permit.
    pub(super) fn start(users: String, groups: String) -> Result<Self, String> {
        let failed = |cause: io::Error| format!("weir.user: the monitor of act-as: {cause}");
        let (own, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(|cause| failed(cause.into()))?;
        set_socket_timeout(&own, Timeout::Recv, Some(PATIENCE)).map_err(|cause| failed(cause.into()))?;
        let process = Command::new("/proc/self/exe")
            .arg0("weir")
            .arg("monitor")
            .stdin(Stdio::from(other))
            .stdout(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let monitor = Self { socket: Mutex::new(Some(own)), _process: process };
        enter_user_namespace().map_err(|cause| {
            format!(
                "weir.user: act-as needs a user namespace, which this machine does not permit: {cause} (see sysctl \
                 user.max_user_namespaces, and what the container permits)"
            )
        })?;
        monitor.ask(&Request::Map { users, groups }, None).map_err(|cause| {
            format!("weir.user: users and groups cannot be mapped into a user namespace: {cause}")
        })?;
        keep_rights_over_users().map_err(failed)?;
        Ok(monitor)
    }

    /// Gives a file or socket that was made as root to a user.
    pub(super) fn give(&self, file: BorrowedFd<'_>, user: &UserIds) -> io::Result<()> {
        self.ask(&Request::Give { uid: user.uid, gid: user.gid }, Some(file))
    }

    /// Takes all rights from the monitor but the one to bind ports.
    pub(super) fn settle(&self, user: &UserIds) -> io::Result<()> {
        let UserIds { uid, gid, groups } = user.clone();
        self.ask(&Request::Settle { uid, gid, groups }, None)
    }

    fn ask(&self, request: &Request, beside: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "it has ended");
        // An answer that comes too late would be taken for the next one.
        let asked = socket.take().ok_or_else(gone)?;
        send(&asked, request, beside)?;
        let (Answer(code), _) = receive(&asked)?.ok_or_else(gone)?;
        *socket = Some(asked);
        if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
    }
}

impl Binder for Monitor {
    fn bind(&self, socket: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
        let bound = self.ask(&Request::Bind(address), Some(socket));
        bound.map_err(|cause| io::Error::new(cause.kind(), format!("by the monitor: {cause}")))
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").finish_non_exhaustive()
    }
}
