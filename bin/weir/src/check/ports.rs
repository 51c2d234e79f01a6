//! Whether the addresses of listeners can be bound.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use socket2::{Domain, Protocol, Socket, Type};
use weir_admin::ControlClient;
use weir_config::{Diagnostic, Loaded};
use weir_control::{Answer, Command, What};
use weir_model::BindAddress;

use super::holder::holders;

/// Which addresses cannot be bound. Those of a Weir that runs with the same control socket can: it will reload this config.
pub(super) fn check(loaded: &Loaded) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let running = std::cell::LazyCell::new(|| running(loaded));
    let running = || *running;
    for listener in &loaded.plan.listeners {
        let name = listener.name.as_str();
        for (index, address) in listener.bind.iter().enumerate() {
            let index = index.to_string();
            found.extend(check_one(
                loaded,
                &["listener", name, "bind", &index],
                &format!("listener {name}"),
                address,
                &running,
            ));
        }
    }
    for (index, address) in loaded.plan.admin.iter().flat_map(|admin| &admin.bind).enumerate() {
        found.extend(check_one(loaded, &["admin", "bind", &index.to_string()], "admin", address, &running));
    }
    found
}

/// The process id of the Weir that answers at the config's control socket.
fn running(loaded: &Loaded) -> Option<u32> {
    let socket = loaded.plan.process.control.as_ref()?;
    let show = Command::Show { what: What::default(), pool: None };
    match ControlClient::connect(socket).and_then(|mut client| client.send(&show)) {
        Ok(Answer::Snapshot(snapshot)) => Some(snapshot.process.pid),
        _ => None,
    }
}

fn check_one(
    loaded: &Loaded,
    keys: &[&str],
    subject: &str,
    address: &BindAddress,
    running: &dyn Fn() -> Option<u32>,
) -> Option<Diagnostic> {
    let error = |message: &str| Some(loaded.error_at(keys, format!("{subject}: {address}: {message}")));
    match address {
        BindAddress::Unix(path) => unix_problem(path).and_then(|message| error(&message)),
        BindAddress::Inet(inet) => match bind(*inet) {
            Ok(()) => None,
            Err(cause) => match cause.kind() {
                io::ErrorKind::AddrInUse => in_use(*inet, running).and_then(|message| error(&message)),
                io::ErrorKind::AddrNotAvailable => error("this machine does not have the address"),
                // The service may run with more rights than whoever checks its config.
                io::ErrorKind::PermissionDenied => {
                    let message = format!("{subject}: {address}: this user may not bind it");
                    Some(loaded.warning_at(keys, message))
                }
                _ => error(&cause.to_string()),
            },
        },
    }
}

/// Who has the address, unless it is the Weir that will reload this config.
fn in_use(address: SocketAddr, running: &dyn Fn() -> Option<u32>) -> Option<String> {
    let holders = holders(address);
    if holders.is_empty() {
        return Some("in use by another program".to_owned());
    }
    let running = running();
    let other = holders.into_iter().find(|holder| Some(holder.pid) != running);
    other.map(|holder| format!("in use by {holder}"))
}

/// Binds, and lets go again. The socket never listens, so that it takes no connection from anyone; and it shares the
/// port with a Weir that runs already, so that its next config can be checked beside it.
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
