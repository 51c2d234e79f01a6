//! Configuration and start of a server.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::handle::OriginHandle;
use crate::serve;
use crate::service_time::ServiceTime;
use crate::state::State;

/// The test web server; [`Origin::builder`] creates one.
#[derive(Debug)]
pub struct Origin;

impl Origin {
    /// Returns the settings of a server named `origin` on a free port of 127.0.0.1, with one thread and no
    /// delay.
    pub fn builder() -> OriginBuilder {
        OriginBuilder {
            name: "origin".to_owned(),
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            service: None,
            threads: NonZeroUsize::MIN,
            grace: Duration::from_secs(30),
        }
    }
}

/// Settings of an [`Origin`].
#[derive(Debug, Clone)]
pub struct OriginBuilder {
    name: String,
    bind: SocketAddr,
    service: Option<ServiceTime>,
    threads: NonZeroUsize,
    grace: Duration,
}

/// Error that kept an [`Origin`] from starting.
#[derive(Debug)]
pub enum StartError {
    /// The address could not be bound.
    Bind(SocketAddr, io::Error),
    /// A thread or its runtime could not be created.
    Thread(io::Error),
}

impl OriginBuilder {
    /// Sets the name, which appears on the page and in the `X-Origin` header of each response. Drops bytes
    /// that a header value cannot contain.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self.name.retain(|c| c == ' ' || c.is_ascii_graphic());
        self
    }

    /// Sets the address to listen on; port 0 takes a free one.
    pub fn bind(mut self, address: SocketAddr) -> Self {
        self.bind = address;
        self
    }

    /// Makes the server as slow as a real one. Health checks are not delayed.
    pub fn service(mut self, service: ServiceTime) -> Self {
        self.service = Some(service);
        self
    }

    /// Sets the number of threads, each with its own connections. One is enough for tests.
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets the time that [`OriginHandle::stop`] gives requests to finish.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Binds the address and serves on threads of its own until the handle stops or is dropped.
    ///
    /// # Errors
    /// If the address cannot be bound, or a thread cannot be created.
    pub fn start(self) -> Result<OriginHandle, StartError> {
        let listener = listen(self.bind).map_err(|cause| StartError::Bind(self.bind, cause))?;
        let addr = listener.local_addr().map_err(|cause| StartError::Bind(self.bind, cause))?;
        let state = Arc::new(State::new(self.name, self.service));
        let threads = serve::start(listener, self.threads, self.grace, &state).map_err(StartError::Thread)?;
        Ok(OriginHandle::new(addr, state, threads))
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // Lets a restarted server bind its port while connections of the killed one remain.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(4096)?;
    Ok(socket.into())
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind(address, cause) => write!(f, "origin {address}: bind: {cause}"),
            Self::Thread(cause) => write!(f, "origin: thread: {cause}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Bind(_, cause) | Self::Thread(cause) => Some(cause),
        }
    }
}
