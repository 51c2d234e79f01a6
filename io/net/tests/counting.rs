//! Reads that learn from the kernel how much they have left.

#![allow(clippy::unwrap_used)]

use std::future::poll_fn;
use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::task::Poll;

use tokio::time::timeout;
use weir_net::{PipePool, Socket, poll_splice};
use weir_testkit::PATIENCE;

const SENT: usize = 5000;
const READ: usize = 1000;
const LEFT: usize = SENT - READ;

/// A socket that is told of events, and its peer.
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

/// Waits for what the peer has sent, and reads [`READ`] bytes of it.
async fn read_counting(socket: &mut Socket) {
    let mut buffer = [0; READ];
    let reading = poll_fn(|cx| socket.poll_read_counting(cx, &mut buffer));
    assert_eq!(timeout(PATIENCE, reading).await.unwrap().unwrap(), READ);
}

/// Splices so many bytes to nobody in particular, without waiting.
async fn splice(socket: &Socket, bytes: usize) {
    let (_client, sink) = pair().await;
    let mut pipe = PipePool::default().take().unwrap();
    let spliced = poll_fn(|cx| Poll::Ready(poll_splice(cx, socket, &sink, &mut pipe, bytes as u64))).await;
    assert!(matches!(spliced, Poll::Ready(Ok(progress)) if progress.read == bytes as u64), "{spliced:?}");
}

async fn has_pending_input(socket: &Socket) -> bool {
    poll_fn(|cx| Poll::Ready(socket.has_pending_input(cx))).await
}

/// Waits until an event tells of input.
async fn wait_for_input(socket: &Socket) {
    let told = poll_fn(|cx| if socket.has_pending_input(cx) { Poll::Ready(()) } else { Poll::Pending });
    timeout(PATIENCE, told).await.unwrap();
}

#[tokio::test]
async fn what_a_counting_read_has_left_is_read_without_waiting_for_an_event() {
    let (mut peer, mut socket) = pair().await;
    peer.write_all(&[7; SENT]).unwrap();
    read_counting(&mut socket).await;
    assert!(has_pending_input(&socket).await);
    let mut rest = [0; LEFT];
    let read = poll_fn(|cx| Poll::Ready(socket.poll_read(cx, &mut rest))).await;
    assert!(matches!(read, Poll::Ready(Ok(LEFT))), "{read:?}");
    assert!(!has_pending_input(&socket).await);
}

#[tokio::test]
async fn when_what_was_counted_is_spliced_the_kernel_is_not_asked_whether_there_is_more() {
    let (mut peer, mut socket) = pair().await;
    peer.write_all(&[7; SENT]).unwrap();
    read_counting(&mut socket).await;
    splice(&socket, LEFT).await;
    peer.write_all(b"x").unwrap();
    assert!(!has_pending_input(&socket).await, "no event has told of it yet: who sees it has asked");
    wait_for_input(&socket).await;
}

#[tokio::test]
async fn a_byte_that_came_with_what_was_spliced_is_known_without_an_event() {
    let (mut peer, mut socket) = pair().await;
    peer.write_all(&[7; SENT]).unwrap();
    read_counting(&mut socket).await;
    splice(&socket, LEFT - 1).await;
    assert!(has_pending_input(&socket).await);
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
