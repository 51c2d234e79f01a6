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

/// Files that hold no key are longer than this, in bytes.
const KEY_BYTES_MAX: u64 = 64 * 1024;
/// How far the clocks of those who share a key may differ, in seconds.
const LEEWAY_SECS: u64 = 30;

/// Issues Weir's own tokens and knows them again, without asking anybody.
#[derive(Debug)]
pub(crate) struct OwnTokens {
    pub(crate) plan: TokenEndpointPlan,
    pub(crate) endpoint: Endpoint,
    pub(crate) minting: Minting,
    /// The users of each area that it issues tokens for: a name in one file is not the same name in another.
    users: HashMap<String, PathBuf>,
    /// Some listener asks for certificates.
    certificates: bool,
    limit: Arc<Mutex<ClientLimit>>,
    /// The limit's clock began then.
    since: Instant,
}

impl OwnTokens {
    /// Reads its keys. Blocks on the disk.
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

    /// Goes on counting the requests of clients where the same endpoint before a reload has stopped.
    pub(crate) fn keep_count_of(&mut self, before: &Self) {
        if before.plan.requests_per_minute == self.plan.requests_per_minute {
            self.limit = Arc::clone(&before.limit);
            self.since = before.since;
        }
    }

    /// A client asks for a token.
    ///
    /// # Errors
    /// Once too often: in how many seconds it may again.
    pub(crate) fn ask(&self, request: &Request) -> Result<(), u64> {
        self.limit().ask(client_of(request), self.now_ms())
    }

    /// What it has presented does not hold.
    pub(crate) fn failed(&self, request: &Request) {
        self.limit().failed(client_of(request), self.now_ms());
    }

    fn limit(&self) -> MutexGuard<'_, ClientLimit> {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What the issuer says of itself.
    pub(crate) fn metadata(&self) -> serde_json::Value {
        let methods =
            [("client_secret_basic", !self.users.is_empty()), ("tls_client_auth", self.certificates)];
        let methods: Vec<&str> =
            methods.into_iter().filter_map(|(method, works)| works.then_some(method)).collect();
        self.endpoint.metadata(self.plan.algorithm == OwnAlgorithm::Es256, &methods)
    }

    /// Who bears a token, in an area.
    pub(crate) fn verify(
        &self,
        token: &str,
        presentation: &Presentation<'_>,
        now_s: u64,
    ) -> Result<Identity, TokenError> {
        self.minting.verify(token, presentation, &AwsLc, LEEWAY_SECS, now_s)
    }

    /// Whether the holder of a token is still somebody where it is presented: a user with the same password, the owner of a
    /// certificate that was shown in the same area (elsewhere its authority may be nobody's), the bearer of a token that its issuer's
    /// rules still accept.
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

    /// Whether two areas have the same users.
    pub(crate) fn shares_users(&self, one: &str, other: &str) -> bool {
        self.users.get(one).is_some_and(|file| self.users.get(other) == Some(file))
    }
}

fn read(path: &Path, algorithm: OwnAlgorithm) -> Result<OwnKey, String> {
    let failed = |error: &dyn std::fmt::Display| format!("key {}: {error}", path.display());
    let mut text = Vec::new();
    let file = File::open(path).map_err(|error| failed(&error))?;
    // One byte more tells that it is too long.
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
