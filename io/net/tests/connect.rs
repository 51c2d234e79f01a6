//! Tests of connecting to one of several addresses.

#![allow(clippy::unwrap_used)]

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use weir_net::{Socket, connect_first};
use weir_testkit::{FullListener, RefusingPort};

fn connect(addresses: &[SocketAddr]) -> io::Result<Socket> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Shorter than the kernel's connect timeout, which an unreachable address would take.
    let limit = Duration::from_secs(60);
    runtime.block_on(async {
        tokio::time::timeout(limit, connect_first(addresses.iter().copied())).await.unwrap()
    })
}

/// Opens a listener that can be asked whether a client has connected.
fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

#[test]
fn an_address_that_nobody_hears_is_not_waited_for() {
    let (deaf, deafer, (live, address)) = (FullListener::new(), FullListener::new(), listener());
    let _connected = connect(&[deaf.addr(), deafer.addr(), address]).unwrap();
    assert!(live.accept().is_ok());
}

#[test]
fn an_address_that_refuses_is_followed_by_the_next() {
    let (refusing, (live, address)) = (RefusingPort::new(), listener());
    let _connected = connect(&[refusing.addr(), address]).unwrap();
    assert!(live.accept().is_ok());
}

#[test]
fn while_one_address_answers_the_next_is_left_alone() {
    let ((first, first_address), (second, second_address)) = (listener(), listener());
    let _connected = connect(&[first_address, second_address]).unwrap();
    assert!(first.accept().is_ok());
    assert_eq!(second.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn when_no_address_answers_the_cause_is_told() {
    let refusing = [RefusingPort::new(), RefusingPort::new()];
    let refused = connect(&[refusing[0].addr(), refusing[1].addr()]);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert_eq!(connect(&[]).unwrap_err().kind(), ErrorKind::AddrNotAvailable);
}
