//! Valid settings of copies between storage areas and other servers.

use std::path::PathBuf;

use serde::Serialize;
use weir_dav::third_party::RemoteRules;
use weir_model::Millis;

use crate::tls::plan::{Certificate, TlsOut, TlsVersion};

/// Copies between storage areas and other servers (`[third-party-copy]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThirdPartyCopyPlan {
    /// Rules for the other servers.
    pub rules: RemoteRules,
    /// PEM file with the CAs of the other servers; `None` = those of the system.
    pub ca: Option<PathBuf>,
    /// Client certificate of Weir.
    pub client_certificate: Option<Certificate>,
    /// Maximum number of concurrent transfers.
    pub transfers_max: u32,
    /// Maximum number of concurrent transfers with one server.
    pub of_peer_max: u32,
    /// Maximum number of waiting transfers.
    pub queue: u32,
    /// Maximum number of connections of one pull.
    pub streams_max: u16,
    /// Maximum number of retries of a transfer.
    pub retries: u32,
    /// Time limit for name resolution, connection and TLS handshake together.
    pub connect_timeout: Millis,
    /// Idle timeout of a transfer.
    pub idle_timeout: Millis,
    /// Minimum rate in bytes per second, over [`Self::idle_timeout`]; 0 = no minimum.
    pub rate_min: u64,
    /// Time limit for a response that may need to read a file first.
    pub answer_timeout: Millis,
    /// Interval between two markers.
    pub marker_interval: Millis,
}

impl ThirdPartyCopyPlan {
    /// Returns the TLS settings for the other servers.
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
