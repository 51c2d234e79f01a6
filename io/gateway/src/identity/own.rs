//! Weir's own tokens: issues and verifies them.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use weir_access::identity::{Identity, TokenIdentity};
use weir_access::issue::{ClientLimit, Endpoint, Minting, OwnKey, OwnKeys, Presentation};
use weir_access::jwt::{Algorithm, TokenError};
use weir_config::Plan;
use weir_config::plan::{ListenerPlan, OwnAlgorithm, TokenEndpointPlan};
use weir_net::service::Request;

use super::{Asked, WrongKey, client_of};
use crate::crypto::AwsLc;

/// Maximum size of a key file, in bytes.
const KEY_BYTES_MAX: u64 = 64 * 1024;
/// Tolerated clock difference between processes that share a key, in seconds.
const LEEWAY_SECS: u64 = 30;

/// One token endpoint: issues Weir's own tokens and verifies them locally.
#[derive(Debug)]
pub(crate) struct OwnTokens {
    pub(crate) plan: TokenEndpointPlan,
    pub(crate) endpoint: Endpoint,
    pub(crate) minting: Minting,
    /// The htpasswd file of each area that uses this endpoint. The same user name in two files means two
    /// users.
    users: HashMap<String, PathBuf>,
    /// Set when a listener requests client certificates.
    certificates: bool,
    limit: Arc<Mutex<ClientLimit>>,
    /// Start of the rate limit's clock.
    since: Instant,
}

impl OwnTokens {
    /// Reads the keys of a token endpoint. Blocks on the disk.
    pub(crate) fn new(plan: &Plan, endpoint: &TokenEndpointPlan) -> Result<Self, WrongKey> {
        let key = |file: &PathBuf, is_previous| {
            read(file, endpoint.algorithm).map_err(|cause| WrongKey { is_previous, cause })
        };
        let previous = endpoint.previous_keys.iter().map(|file| key(file, true));
        let keys =
            OwnKeys { current: key(&endpoint.key, false)?, previous: previous.collect::<Result<_, _>>()? };
        let areas =
            plan.storage_areas.iter().filter(|area| area.token_endpoint.as_ref() == Some(&endpoint.name));
        let urls = Endpoint::new(&endpoint.issuer, &endpoint.path)
            .map_err(|error| WrongKey { is_previous: false, cause: error.to_string() })?;
        let asks =
            |listener: &ListenerPlan| listener.tls.as_ref().is_some_and(|tls| tls.client_auth.is_some());
        Ok(Self {
            plan: endpoint.clone(),
            endpoint: urls,
            minting: Minting {
                issuer: endpoint.issuer.clone(),
                audiences: endpoint.audiences.clone(),
                lifetime_max_secs: endpoint.lifetime_max.0 / 1000,
                keys,
            },
            users: areas.filter_map(|area| Some((area.name.to_string(), area.htpasswd.clone()?))).collect(),
            certificates: plan.listeners.iter().any(asks),
            limit: Arc::new(Mutex::new(ClientLimit::new(endpoint.requests_per_minute))),
            since: Instant::now(),
        })
    }

    /// Takes over the rate-limit counts of the same endpoint from before a reload.
    pub(crate) fn keep_count_of(&mut self, before: &Self) {
        if before.plan.requests_per_minute == self.plan.requests_per_minute {
            self.limit = Arc::clone(&before.limit);
            self.since = before.since;
        }
    }

    /// Counts one token request of a client.
    ///
    /// # Errors
    /// If the client exceeds its limit. The value is the number of seconds to wait.
    pub(crate) fn ask(&self, request: &Request) -> Result<(), u64> {
        self.limit().ask(client_of(request), self.now_ms())
    }

    /// Counts a request with invalid credentials.
    pub(crate) fn failed(&self, request: &Request) {
        self.limit().failed(client_of(request), self.now_ms());
    }

    fn limit(&self) -> MutexGuard<'_, ClientLimit> {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the issuer's metadata document.
    pub(crate) fn metadata(&self) -> serde_json::Value {
        let methods =
            [("client_secret_basic", !self.users.is_empty()), ("tls_client_auth", self.certificates)];
        let methods: Vec<&str> =
            methods.into_iter().filter_map(|(method, works)| works.then_some(method)).collect();
        self.endpoint.metadata(self.plan.algorithm == OwnAlgorithm::Es256, &methods)
    }

    /// Verifies a token of this endpoint.
    pub(crate) fn verify(
        &self,
        token: &str,
        presentation: &Presentation<'_>,
        now_s: u64,
    ) -> Result<Identity, TokenError> {
        self.minting.verify(token, presentation, &AwsLc, LEEWAY_SECS, now_s)
    }

    /// Returns true if the holder of a token is still valid in the area where the token is presented:
    ///
    /// - A user still has the same password there.
    /// - A certificate was shown in the same area; another area may not trust its authority.
    /// - The token of another issuer is still accepted by that issuer's rules.
    pub(crate) fn knows_holder(
        &self,
        identity: &Identity,
        asked: &Asked<'_>,
        trusts: &dyn Fn(&TokenIdentity) -> bool,
    ) -> bool {
        let Identity::Delegated(delegation) = identity else { return true };
        let (proved_in, here) = (delegation.area.as_str(), asked.area.name.as_str());
        match &delegation.holder {
            Identity::Anonymous => true,
            Identity::Token(token) => trusts(token),
            Identity::X509(_) => proved_in == here,
            Identity::Basic(user) => {
                let hash = asked.passwords.and_then(|passwords| passwords.hash_of(&user.name));
                self.shares_users(proved_in, here)
                    && hash.is_some_and(|hash| self.minting.is_proved(delegation, hash, &AwsLc))
            }
            Identity::Delegated(_) => false,
        }
    }

    /// Returns true if two areas have the same htpasswd file.
    pub(crate) fn shares_users(&self, one: &str, other: &str) -> bool {
        self.users.get(one).is_some_and(|file| self.users.get(other) == Some(file))
    }
}

fn read(path: &Path, algorithm: OwnAlgorithm) -> Result<OwnKey, String> {
    let failed = |error: &dyn std::fmt::Display| format!("key {}: {error}", path.display());
    let mut text = Vec::new();
    let file = File::open(path).map_err(|error| failed(&error))?;
    // One byte more than the limit shows that the file is too long.
    file.take(KEY_BYTES_MAX + 1).read_to_end(&mut text).map_err(|error| failed(&error))?;
    if text.len() as u64 > KEY_BYTES_MAX {
        return Err(failed(&format!("longer than {KEY_BYTES_MAX} bytes")));
    }
    let algorithm = match algorithm {
        OwnAlgorithm::Es256 => Algorithm::Es256,
        OwnAlgorithm::Hs256 => Algorithm::Hs256,
    };
    OwnKey::read(algorithm, &text, &AwsLc).map_err(|error| failed(&error))
}
