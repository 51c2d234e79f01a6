//! Networks, processes and files of a scenario, which are removed even after a kill.

mod certificates;
mod family;
mod ledger;
mod network;
mod process;
mod remains;
mod strangers;

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

pub(crate) use certificates::Certificates;
pub(crate) use family::{FAMILY_VARIABLE, Family};
pub use ledger::Ledger;
pub(crate) use network::{Network, Place, SHARED};
pub(crate) use process::{Process, Stop, answers};
pub use remains::Cleaned;

/// Returns a loopback address that was free a moment ago.
pub(crate) fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// Creates an empty directory with this path.
pub(crate) fn fresh(path: &Path) -> Result<PathBuf, String> {
    let _ = fs::remove_dir_all(path);
    fs::create_dir_all(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    Ok(path.to_owned())
}

/// Returns true if this process runs as root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
