//! Tests of listening sockets whose options change while they are open.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use tokio::time::timeout;
use weir_net::{ListenOptions, ListenSocket, Listener};
use weir_testkit::PATIENCE;

fn open(options: ListenOptions) -> (Listener, SocketAddr) {
    let socket = ListenSocket::open(&"127.0.0.1:0".parse().unwrap(), options, None).unwrap();
    let address = socket.address().to_string().parse().unwrap();
    (socket.into_listener().unwrap(), address)
}

/// Connects within this time, or returns `None`.
fn connects(address: SocketAddr, within: Duration) -> Option<TcpStream> {
    TcpStream::connect_timeout(&address, within).ok()
}

#[tokio::test]
async fn the_queue_of_an_open_socket_can_be_made_longer() {
    let short = ListenOptions { backlog: 1, wait_for_data: false };
    let (listener, address) = open(short);
    let mut queued = Vec::new();
    while let Some(client) = connects(address, Duration::from_millis(200)) {
        queued.push(client);
        assert!(queued.len() < 10, "the queue has no end");
    }
    listener.adjust(ListenOptions { backlog: 50, ..short }).unwrap();
    queued.push(connects(address, PATIENCE).expect("room for more"));
    for _ in &queued {
        timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
    }
    assert!(listener.accept_queued().unwrap().is_none());
}

#[tokio::test]
async fn an_open_socket_can_be_told_to_wait_for_data_and_not_to() {
    let at_once = ListenOptions { backlog: 10, wait_for_data: false };
    let waits = ListenOptions { wait_for_data: true, ..at_once };
    let (listener, address) = open(at_once);
    let _first = TcpStream::connect(address).unwrap();
    timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
    listener.adjust(waits).unwrap();
    let _silent = TcpStream::connect(address).unwrap();
    assert!(listener.accept_queued().unwrap().is_none(), "a silent client is shown");
    listener.show_silent().unwrap();
    let _shown = TcpStream::connect(address).unwrap();
    // Both connections: the new one, and the one that was hidden before.
    for _ in 0..2 {
        timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
    }
    listener.adjust(waits).unwrap();
    let _hidden = TcpStream::connect(address).unwrap();
    assert!(listener.accept_queued().unwrap().is_none(), "a silent client is shown again");
    listener.adjust(at_once).unwrap();
    let _last = TcpStream::connect(address).unwrap();
    timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_socket_that_hears_no_more_lets_nobody_new_in_and_everybody_who_has_connected() {
    let (listener, address) = open(ListenOptions { backlog: 10, wait_for_data: false });
    let _queued = TcpStream::connect(address).unwrap();
    listener.hear_no_more().unwrap();
    assert!(connects(address, Duration::from_millis(300)).is_none(), "somebody new has connected");
    timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
    assert!(listener.accept_queued().unwrap().is_none());
}

#[tokio::test]
async fn a_handshake_that_has_begun_comes_to_its_end_though_the_socket_hears_no_more() {
    let (listener, address) = open(ListenOptions { backlog: 10, wait_for_data: true });
    // For the kernel, the handshake is not complete before data arrives.
    let mut client = TcpStream::connect(address).unwrap();
    listener.hear_no_more().unwrap();
    assert!(listener.accept_queued().unwrap().is_none());
    client.write_all(b"x").unwrap();
    timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_unix_socket_that_hears_no_more_refuses_and_loses_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("listener.sock");
    let options = ListenOptions { backlog: 10, wait_for_data: false };
    let socket =
        ListenSocket::open(&format!("unix:{}", path.display()).parse().unwrap(), options, None).unwrap();
    let listener = socket.into_listener().unwrap();
    let _queued = UnixStream::connect(&path).unwrap();
    listener.hear_no_more().unwrap();
    assert_eq!(UnixStream::connect(&path).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
    assert!(listener.accept_queued().unwrap().is_none());
}

#[tokio::test]
async fn who_shares_a_unix_socket_that_another_has_shut_waits_without_being_busy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("listener.sock");
    let options = ListenOptions { backlog: 10, wait_for_data: false };
    let socket =
        ListenSocket::open(&format!("unix:{}", path.display()).parse().unwrap(), options, None).unwrap();
    let other = socket.try_clone().unwrap().into_listener().unwrap();
    let listener = socket.into_listener().unwrap();
    let _queued = UnixStream::connect(&path).unwrap();
    listener.hear_no_more().unwrap();
    timeout(PATIENCE, other.accept()).await.unwrap().unwrap();
    // In a task that never yields, this timeout would not expire.
    assert!(timeout(Duration::from_millis(50), other.accept()).await.is_err());
}
