//! Tests of reads that learn the number of remaining bytes from the kernel.

#![allow(clippy::unwrap_used)]

use std::future::poll_fn;
use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::task::Poll;

use rustix::net::{RecvFlags, recv};
use tokio::time::timeout;
use weir_net::{PipePool, Socket, poll_splice};
use weir_testkit::{PATIENCE, wait_until};

const SENT: usize = 5000;
const READ: usize = 1000;
const LEFT: usize = SENT - READ;

/// Creates a socket that is registered for events, and its peer.
async fn pair() -> (TcpStream, Socket) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (accepted, _) = listener.accept().unwrap();
    accepted.set_nonblocking(true).unwrap();
    let mut socket = Socket::from_tcp(OwnedFd::from(accepted));
    socket.count_input();
    let waits = poll_fn(|cx| Poll::Ready(socket.poll_read(cx, &mut [0]).is_pending())).await;
    assert!(waits && socket.is_watched());
    (peer, socket)
}

/// Waits for input and reads [`READ`] bytes of it.
async fn read_counting(socket: &mut Socket) {
    let mut buffer = [0; READ];
    let reading = poll_fn(|cx| socket.poll_read_counting(cx, &mut buffer));
    assert_eq!(timeout(PATIENCE, reading).await.unwrap().unwrap(), READ);
}

/// Splices this number of bytes to an unused socket, without waiting.
async fn splice(socket: &Socket, bytes: usize) {
    let (_client, sink) = pair().await;
    let mut pipe = PipePool::default().take().unwrap();
    let spliced = poll_fn(|cx| Poll::Ready(poll_splice(cx, socket, &sink, &mut pipe, bytes as u64))).await;
    assert!(matches!(spliced, Poll::Ready(Ok(progress)) if progress.read == bytes as u64), "{spliced:?}");
}

/// Waits for an event of input, and checks that `has_pending_input` also reports it.
async fn wait_for_input(socket: &Socket) {
    let told = poll_fn(|cx| socket.poll_peek(cx, &mut [0]));
    timeout(PATIENCE, told).await.unwrap().unwrap();
    assert!(socket.has_pending_input());
}

#[tokio::test]
async fn what_a_counting_read_has_left_is_read_without_waiting_for_an_event() {
    let (mut peer, mut socket) = pair().await;
    peer.write_all(&[7; SENT]).unwrap();
    read_counting(&mut socket).await;
    assert!(socket.has_pending_input());
    let mut rest = [0; LEFT];
    let read = poll_fn(|cx| Poll::Ready(socket.poll_read(cx, &mut rest))).await;
    assert!(matches!(read, Poll::Ready(Ok(LEFT))), "{read:?}");
    assert!(!socket.has_pending_input());
}

#[tokio::test]
async fn when_what_was_counted_is_spliced_the_kernel_is_not_asked_whether_there_is_more() {
    let (mut peer, mut socket) = pair().await;
    peer.write_all(&[7; SENT]).unwrap();
    read_counting(&mut socket).await;
    splice(&socket, LEFT).await;
    peer.write_all(b"x").unwrap();
    assert!(!socket.has_pending_input(), "no event has told of it yet: who sees it has asked");
    wait_for_input(&socket).await;
}

#[tokio::test]
async fn a_byte_that_came_with_what_was_spliced_is_known_without_an_event() {
    let (mut peer, mut socket) = pair().await;
    peer.write_all(&[7; SENT]).unwrap();
    read_counting(&mut socket).await;
    splice(&socket, LEFT - 1).await;
    assert!(socket.has_pending_input());
}

#[tokio::test]
async fn a_byte_behind_what_came_after_the_count_is_seen_without_an_event() {
    let (mut peer, mut socket) = pair().await;
    peer.write_all(&[7; SENT]).unwrap();
    read_counting(&mut socket).await;
    peer.write_all(&[7; 2]).unwrap();
    let mut window = [0; LEFT + 2];
    wait_until(
        "two bytes more",
        PATIENCE,
        || matches!(recv(&socket, &mut window[..], RecvFlags::PEEK), Ok((read, _)) if read == LEFT + 2),
    );
    splice(&socket, LEFT + 1).await;
    assert!(socket.has_pending_input(), "nobody has counted it, and no event has told of it yet");
}

#[tokio::test]
async fn what_came_after_the_count_is_waited_for_once_it_has_been_taken() {
    let (mut peer, mut socket) = pair().await;
    peer.write_all(&[7; SENT]).unwrap();
    read_counting(&mut socket).await;
    peer.write_all(b"x").unwrap();
    let mut window = [0; LEFT + 1];
    wait_until(
        "a byte more",
        PATIENCE,
        || matches!(recv(&socket, &mut window[..], RecvFlags::PEEK), Ok((read, _)) if read == LEFT + 1),
    );
    splice(&socket, LEFT + 1).await;
    assert!(!socket.has_pending_input());
    peer.write_all(b"y").unwrap();
    wait_for_input(&socket).await;
}

#[tokio::test]
async fn the_end_of_the_stream_behind_what_was_spliced_is_seen() {
    let (mut peer, mut socket) = pair().await;
    peer.write_all(&[7; SENT]).unwrap();
    peer.shutdown(Shutdown::Write).unwrap();
    read_counting(&mut socket).await;
    splice(&socket, LEFT).await;
    wait_for_input(&socket).await;
}

#[tokio::test]
async fn who_looks_for_input_is_told_of_what_came_and_forgets_what_was_read() {
    let (mut peer, mut socket) = pair().await;
    assert!(!socket.has_pending_input());
    peer.write_all(&[7; READ]).unwrap();
    wait_for_input(&socket).await;
    // A read of all available bytes, which does not know that nothing is left.
    let mut buffer = [0; READ];
    let read = poll_fn(|cx| Poll::Ready(socket.poll_read(cx, &mut buffer))).await;
    assert!(matches!(read, Poll::Ready(Ok(READ))), "{read:?}");
    assert!(!socket.has_pending_input());
    peer.shutdown(Shutdown::Write).unwrap();
    wait_for_input(&socket).await;
}
