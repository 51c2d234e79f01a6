//! Checks that the addresses of listeners can be bound.

use std::cell::LazyCell;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use socket2::{Domain, Protocol, Socket, Type};
use weir_admin::ControlClient;
use weir_config::{Diagnostic, Loaded};
use weir_control::{Answer, Command, What};
use weir_model::BindAddress;
use weir_net::is_listened_on;

use super::holder::{Holder, holders};

/// Reports addresses that cannot be bound or that another program uses. Addresses of the Weir that will
/// reload this config count as free. This is the process that answers at the config's control socket, or was
/// started with the same file or directory.
pub(super) fn check(loaded: &Loaded, config: &Path) -> Vec<Diagnostic> {
    let ports = Ports { loaded, config, running: LazyCell::new(Box::new(|| running(loaded))) };
    let mut found = Vec::new();
    for listener in &loaded.plan.listeners {
        let name = listener.name.as_str();
        for (index, address) in listener.bind.iter().enumerate() {
            let keys = ["listener", name, "bind", &index.to_string()];
            found.extend(ports.check_one(&keys, &format!("listener {name}"), address));
        }
    }
    for (index, address) in loaded.plan.admin.iter().flat_map(|admin| &admin.bind).enumerate() {
        found.extend(ports.check_one(&["admin", "bind", &index.to_string()], "admin", address));
    }
    found
}

/// Context of the check.
struct Ports<'a> {
    loaded: &'a Loaded,
    config: &'a Path,
    /// Process id of the Weir that answers at the config's control socket.
    running: LazyCell<Option<u32>, Box<dyn FnOnce() -> Option<u32> + 'a>>,
}

impl Ports<'_> {
    fn check_one(&self, keys: &[&str], subject: &str, address: &BindAddress) -> Option<Diagnostic> {
        let text = |message: &str| format!("{subject}: {address}: {message}");
        let error = |message: &str| Some(self.loaded.error_at(keys, text(message)));
        let warning = |message: &str| Some(self.loaded.warning_at(keys, text(message)));
        let inet = match address {
            BindAddress::Unix(path) => return unix_problem(path).and_then(|message| error(&message)),
            BindAddress::Inet(inet) => *inet,
        };
        match bind(inet).map_err(|cause| (cause.kind(), cause)) {
            // Another process of the same user that also sets SO_REUSEPORT would share the port and take a
            // part of the connections.
            Ok(()) if is_listened_on(inet) => match holders(inet) {
                // The open files of a program with capabilities of its own are hidden.
                hidden if hidden.is_empty() && self.running.is_some() => None,
                hidden if hidden.is_empty() => warning("another program of this user listens there, too"),
                holders => self.other(holders).and_then(|message| error(&message)),
            },
            Ok(()) => None,
            Err((io::ErrorKind::AddrInUse, _)) => match holders(inet) {
                hidden if hidden.is_empty() => error("in use by another program"),
                holders => self.other(holders).and_then(|message| error(&message)),
            },
            Err((io::ErrorKind::AddrNotAvailable, _)) => error("this machine does not have the address"),
            // The service may run with more privileges than the user who checks its config.
            Err((io::ErrorKind::PermissionDenied, _)) => warning("this user may not bind it"),
            Err((_, cause)) => error(&cause.to_string()),
        }
    }

    /// Returns a message about the process that has the address, unless it is the Weir that will reload this
    /// config.
    fn other(&self, holders: Vec<Holder>) -> Option<String> {
        let is_own = |holder: &Holder| Some(holder.pid) == *self.running || holder.runs(self.config);
        let other = holders.into_iter().find(|holder| !is_own(holder));
        other.map(|holder| format!("in use by {holder}"))
    }
}

/// Returns the process id of the Weir that answers at the config's control socket.
fn running(loaded: &Loaded) -> Option<u32> {
    let socket = loaded.plan.process.control.as_ref()?;
    let show = Command::Show { what: What::default(), pool: None };
    match ControlClient::connect(socket).and_then(|mut client| client.send(&show)) {
        Ok(Answer::Snapshot(snapshot)) => Some(snapshot.process.pid),
        _ => None,
    }
}

/// Binds the address and closes the socket. The socket never listens, so it takes no connections. It shares
/// the port with a running Weir, so that the next config can be checked while that runs.
fn bind(address: SocketAddr) -> io::Result<()> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())
}

fn unix_problem(path: &Path) -> Option<String> {
    let directory = path.parent()?;
    if !directory.is_dir() {
        return Some(format!("there is no directory {}", directory.display()));
    }
    let kind = std::fs::symlink_metadata(path).ok()?.file_type();
    (!kind.is_socket()).then(|| "there is something else than a socket".to_owned())
}
