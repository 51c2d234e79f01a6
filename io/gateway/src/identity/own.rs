use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use weir_access::identity::{Delegation, Identity};
use weir_access::issue::{Endpoint, EndpointPage, Minting, OwnKey, OwnKeys, Presentation};
use weir_access::jwt::{Algorithm, TokenError};
use weir_config::Plan;
use weir_config::plan::{OwnAlgorithm, TokenEndpointPlan};

use super::Asked;
use crate::crypto::AwsLc;

/// Files that hold no key are longer than this.
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
}

impl OwnTokens {
    /// Reads its keys. Blocks on the disk.
    pub(crate) fn new(plan: &Plan, endpoint: &TokenEndpointPlan) -> Result<Self, String> {
        let keys = OwnKeys {
            current: read(&endpoint.key, endpoint.algorithm)?,
            previous: endpoint
                .previous_keys
                .iter()
                .map(|file| read(file, endpoint.algorithm))
                .collect::<Result<_, _>>()?,
        };
        let areas =
            plan.storage_areas.iter().filter(|area| area.token_endpoint.as_ref() == Some(&endpoint.name));
        let urls = Endpoint::new(&endpoint.issuer, &endpoint.path).map_err(|error| error.to_string())?;
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
        })
    }

    /// What is at a path of the server. Only keys that have a public half are published.
    pub(crate) fn page(&self, path: &[u8]) -> Option<EndpointPage> {
        let page = self.endpoint.page(path)?;
        (page != EndpointPage::Keys || self.has_public_keys()).then_some(page)
    }

    /// Whether others can verify its tokens.
    pub(crate) fn has_public_keys(&self) -> bool {
        self.plan.algorithm == OwnAlgorithm::Es256
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

    /// Whether the holder of a token is somebody where it is presented: one of the area's users, or known beyond it.
    pub(crate) fn knows_holder(&self, identity: &Identity, asked: &Asked<'_>) -> bool {
        let Identity::Delegated(delegation) = identity else { return true };
        let Delegation { holder: Identity::Basic(user), area: proved_in, .. } = &**delegation else {
            return true;
        };
        (asked.knows)(&user.name) && self.shares_users(proved_in, asked.area.name.as_str())
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
    file.take(KEY_BYTES_MAX).read_to_end(&mut text).map_err(|error| failed(&error))?;
    let algorithm = match algorithm {
        OwnAlgorithm::Es256 => Algorithm::Es256,
        OwnAlgorithm::Hs256 => Algorithm::Hs256,
    };
    OwnKey::read(algorithm, &text, &AwsLc).map_err(|error| failed(&error))
}
