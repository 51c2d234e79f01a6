//! Whether the addresses of listeners can be bound.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use socket2::{Domain, Protocol, Socket, Type};
use weir_config::{Diagnostic, Loaded};
use weir_model::BindAddress;

/// Which addresses cannot be bound.
pub(super) fn check(loaded: &Loaded) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for listener in &loaded.plan.listeners {
        let name = listener.name.as_str();
        for (index, address) in listener.bind.iter().enumerate() {
            let index = index.to_string();
            found.extend(check_one(
                loaded,
                &["listener", name, "bind", &index],
                &format!("listener {name}"),
                address,
            ));
        }
    }
    for (index, address) in loaded.plan.admin.iter().flat_map(|admin| &admin.bind).enumerate() {
        found.extend(check_one(loaded, &["admin", "bind", &index.to_string()], "admin", address));
    }
    found
}

fn check_one(loaded: &Loaded, keys: &[&str], subject: &str, address: &BindAddress) -> Option<Diagnostic> {
    let error = |message: &str| Some(loaded.error_at(keys, format!("{subject}: {address}: {message}")));
    match address {
        BindAddress::Unix(path) => unix_problem(path).and_then(|message| error(&message)),
        BindAddress::Inet(inet) => match bind(*inet) {
            Ok(()) => None,
            Err(cause) => match cause.kind() {
                io::ErrorKind::AddrInUse => error("in use by another program"),
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
