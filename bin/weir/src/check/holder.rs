//! Finds the processes that listen at an address, from the kernel's table of sockets and the open files of
//! each process (proc(5)).

use std::ffi::OsStr;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::CONFIG;

/// Process that listens at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) pid: u32,
    /// Name as `ps` shows it.
    name: String,
}

impl Holder {
    /// Returns true if the process is a Weir that was started with this config.
    pub(super) fn runs(&self, config: &Path) -> bool {
        let (Ok(config), Ok(directory)) =
            (config.canonicalize(), std::fs::read_link(format!("/proc/{}/cwd", self.pid)))
        else {
            return false;
        };
        let line = std::fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let arguments: Vec<&[u8]> = line.split(|byte| *byte == 0).filter(|one| !one.is_empty()).collect();
        let [program, verb, named @ ..] = arguments.as_slice() else { return false };
        let is_weir = Path::new(OsStr::from_bytes(program)).file_name() == Some(OsStr::new("weir"));
        let named = if named.is_empty() { &[CONFIG.as_bytes()][..] } else { named };
        let is_it = |one: &&[u8]| {
            directory.join(OsStr::from_bytes(one)).canonicalize().is_ok_and(|found| found == config)
        };
        is_weir && *verb == b"run" && named.iter().any(is_it)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name, self.pid)
    }
}

/// Returns the processes that listen at the address, or at its port on all addresses. The list is empty if
/// this user may not see them: only root can see other users' open files.
pub(super) fn holders(address: SocketAddr) -> Vec<Holder> {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"]
        .map(|table| std::fs::read_to_string(table).unwrap_or_default());
    let inodes: Vec<u64> = tables.iter().flat_map(|table| listening(table, address)).collect();
    if inodes.is_empty() {
        return Vec::new();
    }
    let wanted: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| has_open(*pid, &wanted)).map(|pid| Holder { pid, name: name(pid) }).collect()
}

/// Returns the inodes of the sockets in a table that listen at the address.
fn listening(table: &str, address: SocketAddr) -> impl Iterator<Item = u64> {
    const LISTEN: &str = "0A";
    table.lines().skip(1).filter_map(move |line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        let (ip, port) = local.split_once(':')?;
        let (ip, port) = (ip_of(ip)?, u16::from_str_radix(port, 16).ok()?);
        let is_same = port == address.port()
            && (ip == address.ip().to_canonical() || ip.is_unspecified() || address.ip().is_unspecified());
        if *state == LISTEN && is_same { inode.parse().ok() } else { None }
    })
}

/// Parses an address in the format of the tables: words of 32 bits in the machine's byte order.
fn ip_of(hex: &str) -> Option<IpAddr> {
    let words: Vec<[u8; 4]> = (0..hex.len() / 8)
        .map(|word| u32::from_str_radix(hex.get(word * 8..word * 8 + 8)?, 16).ok().map(u32::to_ne_bytes))
        .collect::<Option<_>>()?;
    match words.concat().try_into() {
        Ok(octets) => Some(Ipv6Addr::from_octets(octets).to_canonical()),
        Err(octets) => <[u8; 4]>::try_from(octets).ok().map(|octets| Ipv4Addr::from_octets(octets).into()),
    }
}

fn has_open(pid: u32, wanted: &[String]) -> bool {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    links.any(|link| wanted.iter().any(|socket| link == Path::new(socket)))
}

fn name(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    if name.trim().is_empty() { "a process".to_owned() } else { name.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use weir_testkit::{PATIENCE, wait_until};

    use super::*;

    #[test]
    fn whoever_listens_is_found_by_either_family_and_nobody_else_is() {
        for bind in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(bind).unwrap();
            let address = listener.local_addr().unwrap();
            let pids = |address| holders(address).into_iter().map(|holder| holder.pid).collect::<Vec<_>>();
            // A child that another test has just started holds all of this process's open files until it
            // calls exec.
            let until = |wanted: &[u32]| wait_until(bind, PATIENCE, || pids(address) == wanted);
            until(&[std::process::id()]);
            drop(listener);
            until(&[]);
        }
    }

    #[test]
    fn a_listener_on_all_addresses_has_each_of_them() {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let found = holders(SocketAddr::from(([127, 0, 0, 1], port)));
        let own = format!(" (process {})", std::process::id());
        assert!(found.iter().any(|holder| holder.to_string().ends_with(&own)), "{found:?}");
    }
}
