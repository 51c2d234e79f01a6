//! Where a scenario is played: networks, processes and files that go away, also after a kill.

mod certificates;
mod family;
mod ledger;
mod network;
mod process;
mod remains;
mod strangers;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

pub(crate) use certificates::Certificates;
pub(crate) use family::{FAMILY_VARIABLE, Family};
pub use ledger::Ledger;
pub(crate) use network::{Network, Place, SHARED};
pub(crate) use process::{Process, Stop};
pub use remains::Cleaned;

/// An address on loopback where nobody listened a moment ago.
pub(crate) fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// Whether this process may do everything.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
