//! Reads for which the kernel reports the number of remaining bytes (TCP_INQ, in linux/tcp.h).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The control message that the kernel adds to such a read.
#[repr(C)]
struct Control {
    header: libc::cmsghdr,
    left_bytes: libc::c_int,
}

/// Makes the kernel report the remaining bytes with each [`receive`]. Kernels before Linux 4.18 do not
/// support it and report nothing.
#[allow(unsafe_code)]
pub(crate) fn enable(socket: BorrowedFd<'_>) {
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open for as long as it is borrowed; the call reads one c_int, which is live.
    let _ = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INQ, (&raw const on).cast(), length)
    };
}

/// Reads into `buffer`. Returns the bytes read and the bytes that remained after the read, where the end of
/// the stream counts as one byte. Later bytes cause an event. `None` = the kernel does not report the number.
#[allow(unsafe_code)]
pub(crate) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Option<usize>)> {
    let mut window = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: it consists of integers, for which zero is a value.
    let mut control: Control = unsafe { std::mem::zeroed() };
    // SAFETY: it consists of integers and pointers, for which zero is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut window;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of::<Control>();
    // SAFETY: the descriptor is open for as long as it is borrowed. `message` leads to `window`, which is
    // `buffer`, and to `control`, each with its size; all are live, and nothing else uses them during the
    // call.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let Ok(received) = usize::try_from(received) else { return Err(io::Error::last_os_error()) };
    let Control { header, left_bytes } = control;
    let is_count = header.cmsg_level == libc::IPPROTO_TCP && header.cmsg_type == libc::TCP_CM_INQ;
    Ok((received, if is_count { usize::try_from(left_bytes).ok() } else { None }))
}
