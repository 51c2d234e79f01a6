//! The messages between the process and its monitor: one packet for each request and one for each reply.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

/// Maximum size of a message: two maps of 340 lines with three numbers each.
const BYTES_MAX: usize = 32 * 1024;

/// A request to the monitor. The socket or file that it concerns is sent as a descriptor with the packet.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Write the maps of users and groups of the process.
    Map { users: String, groups: String },
    /// Change the owner of a file or socket of root's.
    Give { uid: u32, gid: u32 },
    /// Change to this user, and from then on only bind ports.
    Settle { uid: u32, gid: u32, groups: Vec<u32> },
    /// Bind a socket.
    Bind(SocketAddr),
}

/// The reply: an error number of the kernel, or 0.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answer(pub(super) i32);

/// Sends a message, with a descriptor if there is one.
pub(super) fn send(
    to: impl AsFd,
    message: &impl Serialize,
    beside: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = beside.into_iter().collect();
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    sendmsg(to, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for a message. Returns `None` if the other side has closed the socket.
pub(super) fn receive<T: for<'a> Deserialize<'a>>(
    from: impl AsFd,
) -> io::Result<Option<(T, Option<OwnedFd>)>> {
    let mut bytes = vec![0; BYTES_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        match recvmsg(&from, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            got => break got?,
        }
    };
    if got.bytes == 0 {
        return Ok(None);
    }
    let mut beside = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
            beside = descriptors.next();
        }
    }
    let message = serde_json::from_slice(bytes.get(..got.bytes).unwrap_or_default())?;
    Ok(Some((message, beside)))
}
