//! Valid settings of copies between storage areas and other servers.

use std::path::PathBuf;

use serde::Serialize;
use weir_dav::third_party::RemoteRules;
use weir_model::Millis;

use crate::tls::plan::{Certificate, TlsOut, TlsVersion};

/// Copies between storage areas and other servers (`[third-party-copy]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThirdPartyCopyPlan {
    /// Which servers.
    pub rules: RemoteRules,
    /// PEM file with the authorities of their certificates; `None` = those of the system.
    pub ca: Option<PathBuf>,
    /// What Weir shows of itself.
    pub client_certificate: Option<Certificate>,
    /// Transfers at once.
    pub transfers_max: u32,
    /// Transfers at once with one server.
    pub of_peer_max: u32,
    /// Transfers that may wait.
    pub queue: u32,
    /// Connections of one pull.
    pub streams_max: u16,
    /// How often a transfer is tried again.
    pub retries: u32,
    /// For name, connection and TLS together.
    pub connect_timeout: Millis,
    /// Without any movement.
    pub idle_timeout: Millis,
    /// Bytes in each second that must move at least, over [`Self::idle_timeout`]; 0 = no such limit.
    pub rate_min: u64,
    /// For an answer before which a file may have to be read.
    pub answer_timeout: Millis,
    /// Between two markers.
    pub marker_interval: Millis,
}

impl ThirdPartyCopyPlan {
    /// TLS towards the other servers.
    pub fn tls(&self) -> TlsOut {
        TlsOut {
            verify: true,
            ca: self.ca.clone(),
            server_name: None,
            client_certificate: self.client_certificate.clone(),
            version_min: TlsVersion::V1_2,
        }
    }
}
