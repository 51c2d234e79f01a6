//! Addresses that refuse connections or leave them unanswered.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// A bound port without a listener: connections are refused, and no other process can listen on it.
#[derive(Debug)]
pub struct RefusingPort {
    address: SocketAddr,
    _socket: Socket,
}

impl RefusingPort {
    /// Takes a free port of 127.0.0.1.
    pub fn new() -> Self {
        let socket = bound();
        Self { address: address(&socket), _socket: socket }
    }

    /// Returns the address, which refuses connections.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }
}

impl Default for RefusingPort {
    fn default() -> Self {
        Self::new()
    }
}

/// A listener with a full queue that accepts nothing: connection attempts get no response.
#[derive(Debug)]
pub struct FullListener {
    address: SocketAddr,
    _socket: Socket,
    _queued: Vec<TcpStream>,
}

impl FullListener {
    /// Listens on a free port of 127.0.0.1 and fills its own queue.
    ///
    /// # Panics
    /// If the queue does not fill.
    pub fn new() -> Self {
        let socket = bound();
        socket.listen(0).expect("listen");
        let address = address(&socket);
        let mut queued = Vec::new();
        // On the loopback, a connection that is not dropped is established within microseconds.
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
            queued.push(stream);
            assert!(queued.len() < 1000, "the queue does not fill");
        }
        Self { address, _socket: socket, _queued: queued }
    }

    /// Returns the address, which leaves connection attempts unanswered.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }
}

impl Default for FullListener {
    fn default() -> Self {
        Self::new()
    }
}

fn bound() -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("socket");
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).expect("bind");
    socket
}

fn address(socket: &Socket) -> SocketAddr {
    socket.local_addr().ok().and_then(|address| address.as_socket()).expect("bound")
}
