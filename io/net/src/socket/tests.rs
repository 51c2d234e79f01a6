//! Tests of sockets.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::task::Waker;

use super::*;

fn connected() -> (Socket, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (peer, _) = listener.accept().unwrap();
    own.set_nonblocking(true).unwrap();
    own.set_nodelay(true).unwrap();
    (Socket::from_tcp(own.into()), peer)
}

#[tokio::test]
async fn a_break_is_told_of_although_bytes_are_unread_and_room_is_not_forgotten_meanwhile() {
    let (mut socket, mut peer) = connected();
    peer.write_all(b"unread").unwrap();
    let all_of_it = async {
        poll_fn(|cx| socket.poll_peek(cx, &mut [0])).await.unwrap();
        // Gives the reactor time to deliver the pending events.
        for _ in 0..3 {
            assert!(poll_fn(|cx| Poll::Ready(socket.poll_broken(cx))).await.is_pending());
            tokio::task::yield_now().await;
        }
        assert_eq!(poll_fn(|cx| socket.poll_write(cx, b"answer")).await.unwrap(), 6);
        peer.read_exact(&mut [0; 6]).unwrap();
        // A peer that has ended its own direction may still read.
        peer.shutdown(std::net::Shutdown::Write).unwrap();
        for _ in 0..3 {
            assert!(poll_fn(|cx| Poll::Ready(socket.poll_broken(cx))).await.is_pending());
            tokio::task::yield_now().await;
        }
        socket2::SockRef::from(&peer).set_linger(Some(Duration::ZERO)).unwrap();
        drop(peer);
        poll_fn(|cx| socket.poll_broken(cx)).await;
    };
    tokio::time::timeout(Duration::from_secs(60), all_of_it).await.unwrap();
}

#[tokio::test]
async fn a_peer_that_has_sent_all_over_a_unix_socket_and_closed_it_has_not_broken_it() {
    let (own, mut peer) = UnixStream::pair().unwrap();
    own.set_nonblocking(true).unwrap();
    let socket = Socket::from_unix(own.into());
    peer.write_all(b"all of it").unwrap();
    drop(peer);
    // Gives the reactor time to deliver events.
    for _ in 0..3 {
        assert!(!poll_fn(|cx| Poll::Ready(socket.is_broken(cx))).await);
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_end_behind_unread_bytes_wakes_and_the_bytes_are_read_all_the_same() {
    let (mut socket, mut peer) = connected();
    let all_of_it = async {
        for bytes in [b"unread", b"second"] {
            peer.write_all(bytes).unwrap();
            // Gives the reactor time to deliver the pending events.
            for _ in 0..3 {
                assert!(!poll_fn(|cx| Poll::Ready(socket.has_ended(cx))).await);
                tokio::task::yield_now().await;
            }
        }
        let mut buffer = [0; 64];
        assert_eq!(poll_fn(|cx| socket.poll_read(cx, &mut buffer[..6])).await.unwrap(), 6);
        assert!(!poll_fn(|cx| Poll::Ready(socket.has_ended(cx))).await);
        peer.shutdown(std::net::Shutdown::Write).unwrap();
        poll_fn(|cx| if socket.has_ended(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
        assert_eq!(poll_fn(|cx| socket.poll_read(cx, &mut buffer)).await.unwrap(), 6);
        assert_eq!(&buffer[..6], b"second");
        assert_eq!(poll_fn(|cx| socket.poll_read(cx, &mut buffer)).await.unwrap(), 0);
    };
    tokio::time::timeout(Duration::from_secs(60), all_of_it).await.unwrap();
}

#[tokio::test]
async fn a_break_is_an_end() {
    let (socket, mut peer) = connected();
    peer.write_all(b"unread").unwrap();
    assert!(!poll_fn(|cx| Poll::Ready(socket.has_ended(cx))).await);
    socket2::SockRef::from(&peer).set_linger(Some(Duration::ZERO)).unwrap();
    drop(peer);
    let ended = poll_fn(|cx| if socket.has_ended(cx) { Poll::Ready(()) } else { Poll::Pending });
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
}

#[tokio::test]
async fn a_peer_that_has_closed_a_unix_socket_has_ended() {
    let (own, mut peer) = UnixStream::pair().unwrap();
    own.set_nonblocking(true).unwrap();
    let socket = Socket::from_unix(own.into());
    peer.write_all(b"all of it").unwrap();
    assert!(!poll_fn(|cx| Poll::Ready(socket.has_ended(cx))).await);
    drop(peer);
    let ended = poll_fn(|cx| if socket.has_ended(cx) { Poll::Ready(()) } else { Poll::Pending });
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
}

#[test]
fn what_is_written_with_more_to_follow_goes_out_when_pushed() {
    let (mut socket, mut peer) = connected();
    let mut cx = Context::from_waker(Waker::noop());

    assert!(matches!(socket.poll_write_more(&mut cx, b"head"), Poll::Ready(Ok(4))));
    peer.set_nonblocking(true).unwrap();
    let mut buffer = [0; 8];
    assert_eq!(peer.read(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    socket.push();
    // Without the push, the kernel would hold the bytes for 200 ms.
    peer.set_nonblocking(false).unwrap();
    peer.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert_eq!(peer.read(&mut buffer).unwrap(), 4);
}

#[tokio::test]
async fn a_file_that_ends_early_is_noticed_when_it_is_asked_for_again() {
    let (mut socket, mut peer) = connected();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"short").unwrap();
    let all_of_it = async {
        // A socket that has had to wait uses events.
        let much = vec![0; 1 << 20];
        let mut filled = 0;
        poll_fn(|cx| {
            while let Poll::Ready(written) = socket.poll_write(cx, &much) {
                filled += written.unwrap();
            }
            Poll::Ready(())
        })
        .await;
        assert!(poll_fn(|cx| Poll::Ready(socket.poll_room(cx))).await.is_pending());
        peer.read_exact(&mut vec![0; filled]).unwrap();
        poll_fn(|cx| socket.poll_room(cx)).await;
        let sent = poll_fn(|cx| socket.poll_send_file(cx, file.as_fd(), 0, 100)).await.unwrap();
        assert_eq!(sent, 5);
        // A short result counts as a full socket.
        assert!(poll_fn(|cx| Poll::Ready(socket.poll_room(cx))).await.is_pending());
        assert!(poll_fn(|cx| Poll::Ready(socket.poll_send_file(cx, file.as_fd(), 5, 95))).await.is_pending());
        socket.ask_again();
        assert!(poll_fn(|cx| Poll::Ready(socket.poll_room(cx))).await.is_ready());
        assert_eq!(poll_fn(|cx| socket.poll_send_file(cx, file.as_fd(), 5, 95)).await.unwrap(), 0);
    };
    tokio::time::timeout(Duration::from_secs(60), all_of_it).await.unwrap();
}

/// Lets the reactor deliver the pending events. Returns true if a read then returns bytes.
async fn reads(socket: &mut Socket) -> bool {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    poll_fn(|cx| Poll::Ready(socket.poll_read(cx, &mut [0; 4]))).await.is_ready()
}

#[tokio::test]
async fn less_than_a_batch_is_not_read_until_it_is_one_or_none_is_waited_for() {
    let (mut socket, mut peer) = connected();
    let all_of_it = async {
        // A socket that has had to wait uses events.
        assert!(!reads(&mut socket).await);
        peer.write_all(&[1; 100]).unwrap();
        poll_fn(|cx| socket.poll_read(cx, &mut [0; 4])).await.unwrap();
        // Bytes 4 to 100.
        socket.tell_of_input_from(97);
        assert!(!reads(&mut socket).await);
        peer.write_all(&[1; 1]).unwrap();
        poll_fn(|cx| socket.poll_read(cx, &mut [0; 4])).await.unwrap();

        socket.tell_of_input_from(1000);
        assert!(!reads(&mut socket).await);
        socket.tell_of_input_from(1);
        poll_fn(|cx| socket.poll_read(cx, &mut [0; 4])).await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(60), all_of_it).await.unwrap();
}

#[tokio::test]
async fn a_batch_that_is_there_already_is_told_of_at_once() {
    let (mut socket, mut peer) = connected();
    let all_of_it = async {
        assert!(!reads(&mut socket).await);
        peer.write_all(&[1; 100]).unwrap();
        poll_fn(|cx| socket.poll_read(cx, &mut [0; 4])).await.unwrap();
        socket.tell_of_input_from(96);
        poll_fn(|cx| socket.poll_read(cx, &mut [0; 4])).await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(60), all_of_it).await.unwrap();
}
