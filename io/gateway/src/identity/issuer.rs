//! A trusted token issuer and the cache of its keys.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use weir_access::identity::TokenIdentity;
use weir_access::jwt::{CachePolicy, Jws, KeyCache, KeySearch, KeySet, Metadata, TokenError, metadata_urls};
use weir_access::token::{Issuer, verify};
use weir_config::plan::{KeySetSource, TlsOut, TlsVersion, TokenIssuerPlan};
use weir_net::tls::ClientTls;

use super::fetch::get;
use crate::crypto::AwsLc;

/// A trusted token issuer and its keys.
#[derive(Debug)]
pub(super) struct TrustedIssuer {
    pub(super) plan: TokenIssuerPlan,
    rules: Issuer,
    /// TLS settings for the issuer's server; `None` if the keys come from a file.
    tls: Option<ClientTls>,
    keys: Mutex<KeyCache>,
    /// Wakes the keeper to check whether keys must be fetched.
    pub(super) wake: Notify,
    /// Number of finished fetches, for tasks that wait for one.
    fetches: watch::Sender<u64>,
}

impl TrustedIssuer {
    /// Creates an issuer. Reads the keys if they are in a file; otherwise the keeper fetches them. Blocks on
    /// the disk.
    pub(super) fn new(plan: &TokenIssuerPlan) -> Result<Self, String> {
        let mut keys = KeyCache::new(CachePolicy {
            refresh_secs: (plan.refresh.0 / 1000).max(1),
            ..CachePolicy::default()
        });
        let tls = match &plan.key_set {
            KeySetSource::File(file) => {
                keys.fetched(read(file)?, crate::clock::unix_now_s());
                None
            }
            KeySetSource::Url(_) | KeySetSource::Discovery => {
                let tls = TlsOut {
                    verify: true,
                    ca: plan.ca.clone(),
                    server_name: None,
                    client_certificate: None,
                    version_min: TlsVersion::V1_2,
                };
                Some(ClientTls::load(&tls).map_err(|error| error.to_string())?)
            }
        };
        Ok(Self {
            plan: plan.clone(),
            rules: plan.rules(),
            tls,
            keys: Mutex::new(keys),
            wake: Notify::new(),
            fetches: watch::Sender::new(0),
        })
    }

    /// Verifies a token. Also returns the version of the keys that were used.
    pub(super) fn verify(&self, token: &str, now_s: u64) -> (Result<TokenIdentity, TokenError>, u64) {
        let (keys, version) = self.keys().keys(now_s);
        (verify(token, &self.rules, &keys, &AwsLc, now_s), version)
    }

    /// Returns true if a token that was verified earlier would still be accepted.
    pub(super) fn accepts(&self, token: &TokenIdentity, now_s: u64) -> bool {
        self.rules.check_again(token, now_s).is_ok()
    }

    /// Subscribes to finished fetches.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.fetches.subscribe()
    }

    /// Requests a fetch of the keys for a token that key version `version` does not verify. Does nothing if
    /// the last fetch was a short time ago.
    pub(super) fn search(&self, token: &str, version: u64, now_s: u64) -> KeySearch {
        let key_id = Jws::parse(token).ok().and_then(|jws| jws.key_id);
        let search = self.keys().search(key_id.as_deref(), version, now_s);
        self.wake.notify_one();
        search
    }

    /// Returns the time of the next fetch, in seconds since 1970.
    pub(super) fn due_at(&self) -> u64 {
        self.keys().due_at()
    }

    /// Fetches the keys. Keeps the present keys if that fails.
    pub(super) async fn refresh(&self) -> Result<(), String> {
        self.keys().started(crate::clock::unix_now_s());
        let fetched = self.fetch().await;
        let now_s = crate::clock::unix_now_s();
        let outcome = match fetched {
            Ok(keys) => {
                self.keys().fetched(keys, now_s);
                Ok(())
            }
            Err(error) => {
                self.keys().failed(now_s);
                Err(error)
            }
        };
        self.fetches.send_modify(|fetches| *fetches += 1);
        outcome
    }

    async fn fetch(&self) -> Result<KeySet, String> {
        match (&self.plan.key_set, &self.tls) {
            (KeySetSource::File(file), _) => read(file),
            (KeySetSource::Url(url), Some(tls)) => parse(&get(url, tls, KeySet::BYTES_MAX).await?, url),
            (KeySetSource::Discovery, Some(tls)) => {
                let mut failures = Vec::new();
                for url in metadata_urls(&self.plan.issuer) {
                    let document = get(&url, tls, Metadata::BYTES_MAX).await;
                    let metadata = document.and_then(|document| {
                        Metadata::parse(&document, &self.plan.issuer)
                            .map_err(|error| format!("{url}: {error}"))
                    });
                    match metadata {
                        Ok(Metadata { jwks_uri, .. }) => {
                            return parse(&get(&jwks_uri, tls, KeySet::BYTES_MAX).await?, &jwks_uri);
                        }
                        Err(failure) => failures.push(failure),
                    }
                }
                Err(failures.join("; "))
            }
            (_, None) => Err("there is no way to fetch keys".to_owned()),
        }
    }

    fn keys(&self) -> MutexGuard<'_, KeyCache> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> Result<KeySet, String> {
    let place = path.display();
    let mut document = Vec::new();
    let file = File::open(path).map_err(|error| format!("key-set {place}: {error}"))?;
    // One byte more than the limit shows that the file is too long.
    let limit = KeySet::BYTES_MAX as u64 + 1;
    file.take(limit).read_to_end(&mut document).map_err(|error| format!("key-set {place}: {error}"))?;
    KeySet::parse(&document).map_err(|error| format!("key-set {place}: {error}"))
}

fn parse(document: &[u8], url: &str) -> Result<KeySet, String> {
    KeySet::parse(document).map_err(|error| format!("{url}: {error}"))
}
