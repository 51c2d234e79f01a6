//! The monitor process: a small program with root's privileges, separate from the process that handles client
//! traffic.

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, FileType, Gid, Uid, chownat, fstat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, bind, sockopt};
use rustix::process::getppid;
use rustix::thread::set_no_new_privs;
use weir_net::{UserIds, become_user, ignore_signals};

use super::message::{Answer, Request, receive, send};

/// Serves the requests of the parent process on standard input until the parent ends.
pub(crate) fn monitor() -> ExitCode {
    let socket = std::io::stdin();
    let is_ours = matches!(sockopt::socket_type(&socket), Ok(SocketType::SEQPACKET));
    let Some(parent) = getppid().filter(|_| is_ours) else {
        eprintln!(
            "weir: `weir monitor` is started by `weir run`, for areas with act-as in a Weir that has a user"
        );
        return ExitCode::from(2);
    };
    // The monitor ends with its parent, so signals must not end it earlier.
    ignore_signals();
    let mut is_settled = false;
    loop {
        let (request, beside) = match receive::<Request>(&socket) {
            Ok(Some(received)) => received,
            Ok(None) => return ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("weir: monitor: {error}");
                return ExitCode::FAILURE;
            }
        };
        let beside = beside.as_ref().map(AsFd::as_fd).ok_or(Errno::BADF);
        let done = match request {
            Request::Bind(address) => {
                beside.map_err(io::Error::from).and_then(|socket| bind_to(socket, address))
            }
            _ if is_settled => Err(Errno::PERM.into()),
            Request::Map { users, groups } => map(parent.as_raw_pid(), &users, &groups),
            Request::Give { uid, gid } => {
                beside.map_err(io::Error::from).and_then(|file| give(file, uid, gid))
            }
            Request::Settle { uid, gid, groups } => {
                is_settled = true;
                settle(&UserIds { uid, gid, groups })
            }
        };
        let code = done.err().map_or(0, |error| error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()));
        if send(&socket, &Answer(code), None).is_err() {
            return ExitCode::SUCCESS;
        }
    }
}

fn map(process: i32, users: &str, groups: &str) -> io::Result<()> {
    std::fs::write(format!("/proc/{process}/gid_map"), groups)?;
    std::fs::write(format!("/proc/{process}/uid_map"), users)
}

/// Changes the owner of a file or socket that the process has created as root, if it has only one hard link.
/// The check is needed because the directory may belong to the user, who could have put a link to any file of
/// root's there.
pub(crate) fn give(file: BorrowedFd<'_>, uid: u32, gid: u32) -> io::Result<()> {
    let found = fstat(file)?;
    let is_own = found.st_uid == 0 && found.st_nlink == 1;
    if is_own && matches!(FileType::from_raw_mode(found.st_mode), FileType::RegularFile | FileType::Socket) {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        chownat(file, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?;
    }
    Ok(())
}

fn settle(user: &UserIds) -> io::Result<()> {
    become_user(user)?;
    set_no_new_privs(true)?;
    Ok(())
}

/// Binds a TCP socket of the process.
fn bind_to(socket: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    let is_inet = matches!(sockopt::socket_domain(socket)?, AddressFamily::INET | AddressFamily::INET6);
    match is_inet && sockopt::socket_type(socket)? == SocketType::STREAM {
        true => Ok(bind(socket, &address)?),
        false => Err(Errno::INVAL.into()),
    }
}
