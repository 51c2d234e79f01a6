//! State that all threads of a run share.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

use rustls::ClientConnection;
use weir_net::tls::{ClientTls, TlsConnector};

use super::job::Job;
use super::onward;
use super::output::Sender;
use crate::load::{Load, LoadError};
use crate::record::Fault;
use crate::target::{Choice, Target, pattern};
use crate::url::{Origin, Url};

/// State that all threads of a run share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) load: Load,
    pub(super) start: Instant,
    pub(super) origins: Vec<Resolved>,
    /// Names of `origins`, in the same order.
    names: Vec<Origin>,
    /// Targets, each with the index of its origin.
    pub(super) targets: Vec<(usize, Target)>,
    choice: Choice,
    /// Piece that generated bodies repeat.
    pub(super) pattern: Vec<u8>,
    /// Names of servers from responses.
    pub(super) servers: Mutex<Vec<String>>,
    pub(super) writer: Option<Sender>,
    pub(super) stop: AtomicBool,
    /// Number of the next request of the closed loop.
    pub(super) next_number: AtomicU64,
    pub(super) timeout_ns: u64,
    duration_ns: Option<u64>,
}

/// Server with its address.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) address: SocketAddr,
    tls: Option<TlsConnector>,
}

impl Shared {
    /// Resolves names and reads certificates. The caller sets `start` and `writer` before it starts the
    /// threads.
    pub(super) fn new(load: Load) -> Result<Self, LoadError> {
        let mut found: Vec<Origin> = Vec::new();
        let mut targets = Vec::with_capacity(load.targets.len());
        for spec in &load.targets {
            let target =
                Target::new(spec, load.keep_alive, load.streams.is_some(), load.verify.as_ref()).map_err(
                    |cause| LoadError::Target { name: format!("{} {}", spec.method, spec.url), cause },
                )?;
            let origin = found.iter().position(|origin| *origin == target.origin).unwrap_or_else(|| {
                found.push(target.origin.clone());
                found.len() - 1
            });
            targets.push((origin, target));
        }
        if targets.is_empty() {
            return Err(LoadError::NoTarget);
        }
        for url in &load.follow {
            let wrong = |cause| LoadError::Target { name: url.clone(), cause };
            let origin = url.parse::<Url>().map_err(wrong)?.origin;
            if !found.contains(&origin) {
                found.push(origin);
            }
        }
        let alpn: &[&[u8]] = if load.streams.is_some() { &[b"h2"] } else { &[] };
        let is_tls = found.iter().any(|origin| origin.is_tls);
        let tls = if is_tls { Some(ClientTls::load(&load.tls)?.offering(alpn)) } else { None };
        let origins =
            found.iter().map(|origin| Resolved::new(origin, tls.as_ref())).collect::<Result<_, _>>()?;
        let choice = Choice::new(&load.targets, load.seed);
        let nanos = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4);
        Ok(Self {
            start: Instant::now(),
            origins,
            names: found,
            targets,
            choice,
            pattern: pattern(),
            servers: Mutex::new(Vec::new()),
            writer: None,
            stop: AtomicBool::new(false),
            next_number: AtomicU64::new(0),
            timeout_ns: nanos(load.timeout),
            duration_ns: load.duration.map(nanos),
            load,
        })
    }

    /// Returns the index of the target of a job's next request.
    pub(super) fn target_of(&self, job: &Job) -> usize {
        job.target.map_or_else(|| self.choice.of(job.number), |target| target as usize)
    }

    /// Returns the origin and the URL of a redirect; `None` = it is not followed.
    pub(super) fn onward(&self, location: &[u8], from: usize) -> Option<(usize, Url)> {
        let url = onward::follow(location, self.names.get(from)?)?;
        let origin = self.names.iter().position(|name| *name == url.origin)?;
        Some((origin, url))
    }

    /// Returns true if the closed loop must start no more requests.
    pub(super) fn is_time_up(&self, now_ns: u64) -> bool {
        self.duration_ns.is_some_and(|duration| now_ns >= duration)
    }
}

impl Resolved {
    fn new(origin: &Origin, tls: Option<&ClientTls>) -> Result<Self, LoadError> {
        let host = || origin.host.clone();
        let mut addresses = (origin.host.as_str(), origin.port)
            .to_socket_addrs()
            .map_err(|cause| LoadError::Resolve { host: host(), cause })?;
        let address = addresses.next().ok_or_else(|| LoadError::Resolve {
            host: host(),
            cause: std::io::Error::other("has no address"),
        })?;
        let tls = match tls.filter(|_| origin.is_tls) {
            Some(tls) => Some(tls.connector(&origin.host)?),
            None => None,
        };
        Ok(Self { address, tls })
    }

    /// Returns a TLS session for a new connection, if it uses TLS.
    pub(super) fn session(&self) -> Result<Option<Box<ClientConnection>>, Fault> {
        let session = self.tls.as_ref().map(TlsConnector::session).transpose();
        session.map(|session| session.map(Box::new)).map_err(|_| Fault::Tls)
    }
}
