//! Privileged operations for a Weir that gives up root and has storage areas that access files as local users
//! (`act-as`).
//!
//! Such a process runs in a user namespace into which only the users of the areas' maps are mapped. It can
//! act as these users, but has none of root's privileges. A separate small process, the monitor, performs the
//! operations that need root: it writes the maps, changes the owner of files that were created as root, and
//! binds ports below 1024. The process sends its requests over a socket. After the start, the monitor only
//! binds ports.

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

/// Timeout of a reply. The monitor never has a reason to wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// The monitor of this process.
pub(super) struct Monitor {
    /// Connection to the monitor, for one request at a time. `None` = the monitor did not reply; no further
    /// request is sent.
    socket: Mutex<Option<OwnedFd>>,
    _process: Child,
}

impl Monitor {
    /// Starts the monitor, and moves this process into a user namespace with the users and groups of the maps
    /// (user_namespaces(7)). The process must have only one thread.
    ///
    /// # Errors
    /// If this machine does not permit one of these operations.
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

    /// Makes the user the owner of a file or socket that was created as root.
    pub(super) fn give(&self, file: BorrowedFd<'_>, user: &UserIds) -> io::Result<()> {
        self.ask(&Request::Give { uid: user.uid, gid: user.gid }, Some(file))
    }

    /// Drops all privileges of the monitor except the one to bind ports.
    pub(super) fn settle(&self, user: &UserIds) -> io::Result<()> {
        let UserIds { uid, gid, groups } = user.clone();
        self.ask(&Request::Settle { uid, gid, groups }, None)
    }

    fn ask(&self, request: &Request, beside: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "it has ended");
        // Takes the socket out until the reply has arrived: a late reply would be read as the reply to the
        // next request.
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
