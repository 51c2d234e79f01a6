//! Starts the third-party copies of a storage area, within the limits of the process.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use weir_config::plan::ThirdPartyCopyPlan;
use weir_control::TransfersSnapshot;
use weir_net::tls::ClientTls;

use super::admission::{Admission, Limits, Ticket};
use super::live::{About, Entry, Registry};
use super::pacer::Pacer;
use crate::client::Dialer;

/// All transfers of this process.
#[derive(Debug)]
pub(crate) struct Transfers {
    admission: Arc<Admission>,
    registry: Arc<Registry>,
    stopping: watch::Sender<bool>,
}

/// TLS settings for other servers.
#[derive(Debug, Clone)]
pub(crate) struct TransferTls {
    /// For servers that clients named, with this server's client certificate if there is one.
    pub(crate) named: ClientTls,
    /// For redirection targets, without that certificate.
    pub(crate) elsewhere: ClientTls,
}

/// Starts the transfers of one storage area.
#[derive(Debug)]
pub(crate) struct Desk {
    transfers: Arc<Transfers>,
    pub(crate) plan: ThirdPartyCopyPlan,
    tls: TransferTls,
    identity: Vec<String>,
    pub(crate) pacer: Option<Arc<Pacer>>,
}

impl Default for Transfers {
    fn default() -> Self {
        Self { admission: Arc::default(), registry: Arc::default(), stopping: watch::Sender::new(false) }
    }
}

impl Transfers {
    /// Returns the state of all transfers.
    pub(crate) fn snapshot(&self) -> TransfersSnapshot {
        self.registry.snapshot()
    }

    /// Ends all transfers, each with a last line for its client, and starts no more.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }
}

impl Desk {
    /// Creates the desk of an area. `bytes_per_second` limits all its transfers together; 0 means no limit.
    /// `identity` lists the headers in which proxies pass a client's identity; a name that ends in `*` is a
    /// prefix. `before` is the desk of the same area before a reload.
    pub(crate) fn new(
        transfers: &Arc<Transfers>,
        plan: &ThirdPartyCopyPlan,
        tls: &TransferTls,
        identity: &[String],
        bytes_per_second: u64,
        before: Option<&Self>,
    ) -> Self {
        let same = before.and_then(|before| before.pacer.as_ref());
        let same = same.filter(|pacer| pacer.bytes_per_second() == bytes_per_second).map(Arc::clone);
        let pacer = match bytes_per_second {
            0 => None,
            rate => Some(same.unwrap_or_else(|| Arc::new(Pacer::new(rate)))),
        };
        Self {
            transfers: Arc::clone(transfers),
            plan: plan.clone(),
            tls: tls.clone(),
            identity: identity.to_vec(),
            pacer,
        }
    }

    /// Returns a ticket for a transfer; `None` if there are too many.
    pub(crate) fn enter(&self, peer: &str) -> Option<Ticket> {
        let limits = Limits {
            active_max: self.plan.transfers_max as usize,
            of_peer_max: self.plan.of_peer_max as usize,
            queue_max: self.plan.queue as usize,
        };
        self.transfers.admission.enter(limits, peer)
    }

    pub(crate) fn register(&self, about: About) -> Entry {
        self.transfers.registry.begin(about)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.transfers.stopping.borrow()
    }

    /// Returns a future that is ready when the transfers must end.
    pub(crate) fn stopping(&self) -> impl Future<Output = ()> + use<> {
        let mut stopping = self.transfers.stopping.subscribe();
        async move {
            // An error means that the process is ending.
            let _ = stopping.wait_for(|stopping| *stopping).await;
        }
    }

    /// Returns true if the config names this header as one in which proxies pass a client's identity.
    pub(crate) fn is_identity(&self, name: &str) -> bool {
        let as_cgi = |name: &str| name.bytes().map(weir_http::fold_for_cgi).collect::<Vec<u8>>();
        let name = as_cgi(name);
        self.identity.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(stem) => name.starts_with(&as_cgi(stem)),
            None => name == as_cgi(pattern),
        })
    }

    /// Returns a dialer for the server that the client named, or for one that it redirected to.
    pub(crate) fn dialer(&self, is_named: bool) -> Dialer<'_> {
        Dialer {
            tls: if is_named { &self.tls.named } else { &self.tls.elsewhere },
            rules: Some(&self.plan.rules),
            connect_timeout: self.plan.connect_timeout.duration(),
            idle_timeout: self.plan.idle_timeout.duration(),
            rate_min: self.plan.rate_min,
        }
    }

    pub(crate) fn marker_interval(&self) -> Duration {
        self.plan.marker_interval.duration()
    }
}
