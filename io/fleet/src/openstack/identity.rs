//! Client of Keystone's API, version 3: tokens with their catalogue
//! (<https://docs.openstack.org/api-ref/identity/v3/#password-authentication-with-scoped-authorization>).

use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{refusal, unanswered};
use super::cloud::{ApplicationCredential, Cloud, Credentials, Domain, Project, User};
use crate::http::{HttpClient, Method};
use crate::{Failure, FailureKind, time};

/// A token with its catalogue of services.
pub(super) struct Access {
    /// Secret.
    pub(super) token: String,
    /// Time from which the token is renewed.
    pub(super) renew_at: SystemTime,
    catalogue: Vec<Service>,
}

#[derive(Deserialize)]
struct Answer {
    token: TokenBody,
}

#[derive(Deserialize)]
struct TokenBody {
    expires_at: String,
    #[serde(default)]
    catalog: Vec<Service>,
}

#[derive(Deserialize)]
struct Service {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    endpoints: Vec<Endpoint>,
}

#[derive(Deserialize)]
struct Endpoint {
    interface: String,
    region: Option<String>,
    region_id: Option<String>,
    url: String,
}

/// Time before the expiry at which a token is renewed; if nine tenths of its life end later, then at that
/// time.
const RENEW_BEFORE: Duration = Duration::from_secs(300);

/// Requests a token.
pub(super) async fn authenticate(http: &HttpClient, cloud: &Cloud) -> Result<Access, Failure> {
    let base = cloud.auth_url.trim_end_matches('/');
    let base = base.strip_suffix("/v3").unwrap_or(base);
    let url = format!("{base}/v3/auth/tokens");
    let body = body(&cloud.credentials).to_string().into_bytes();
    let reply = http.send(&Method::POST, &url, &[], Some(body)).await;
    // An additional token is harmless, so the request counts as one that changes nothing.
    let reply = reply.map_err(|fault| unanswered(fault, false))?;
    if !reply.status.is_success() {
        let failure = refusal(&reply, false).of(format_args!("{url}, {}", cloud.name));
        // 404 means that there is no Keystone here, not that a machine is missing.
        let kind = if failure.kind == FailureKind::NotFound { FailureKind::Permanent } else { failure.kind };
        return Err(Failure { kind, ..failure });
    }
    let wrong = |why: &str| Failure::new(FailureKind::Transient, format!("{url}: {why}"));
    let token = reply.headers.get("x-subject-token").and_then(|token| token.to_str().ok());
    let token = token.ok_or_else(|| wrong("the answer has no X-Subject-Token"))?.to_owned();
    let answer: Answer =
        serde_json::from_slice(&reply.body).map_err(|cause| wrong(&format!("not a token: {cause}")))?;
    let expires = time::parse(&answer.token.expires_at).ok_or_else(|| wrong("expires_at is no time"))?;
    let now = SystemTime::now();
    let life = expires.duration_since(now).unwrap_or_default();
    let renew_at = now + life.saturating_sub(RENEW_BEFORE).max(life / 10 * 9);
    Ok(Access { token, renew_at, catalogue: answer.token.catalog })
}

impl Access {
    /// Returns the address of a service, without a slash at the end.
    pub(super) fn endpoint(&self, cloud: &Cloud, kind: &str) -> Result<String, Failure> {
        if let Some(url) = cloud.overrides.get(kind) {
            return Ok(url.trim_end_matches('/').to_owned());
        }
        let services = self.catalogue.iter().filter(|service| service.kind == kind);
        let endpoints = services.flat_map(|service| &service.endpoints);
        let found = endpoints
            .filter(|endpoint| endpoint.interface == cloud.interface)
            .find(|endpoint| cloud.region.is_none() || endpoint.is_in(&cloud.region));
        let missing = || {
            let region =
                cloud.region.as_deref().map_or(String::new(), |region| format!(" in region {region}"));
            let message = format!(
                "{}: the catalogue has no {} endpoint of {kind}{region}",
                cloud.name, cloud.interface
            );
            Failure::new(FailureKind::Permanent, message)
        };
        found.map(|endpoint| endpoint.url.trim_end_matches('/').to_owned()).ok_or_else(missing)
    }
}

impl Endpoint {
    /// Returns true if the endpoint is in the region. Old catalogues have only one of the two fields.
    fn is_in(&self, region: &Option<String>) -> bool {
        self.region_id == *region || self.region == *region
    }
}

fn body(credentials: &Credentials) -> Value {
    match credentials {
        Credentials::Password { user, password, project } => {
            let mut user = named(user);
            user["password"] = json!(password);
            let project = match project {
                Project::Id(id) => json!({ "id": id }),
                Project::Name(name, of) => json!({ "name": name, "domain": domain(of) }),
            };
            let identity = json!({ "methods": ["password"], "password": { "user": user } });
            json!({ "auth": { "identity": identity, "scope": { "project": project } } })
        }
        Credentials::ApplicationCredential { credential, secret } => {
            let mut credential = match credential {
                ApplicationCredential::Id(id) => json!({ "id": id }),
                ApplicationCredential::Name(name, user) => json!({ "name": name, "user": named(user) }),
            };
            credential["secret"] = json!(secret);
            let method = "application_credential";
            json!({ "auth": { "identity": { "methods": [method], method: credential } } })
        }
    }
}

fn named(user: &User) -> Value {
    match user {
        User::Id(id) => json!({ "id": id }),
        User::Name(name, of) => json!({ "name": name, "domain": domain(of) }),
    }
}

fn domain(domain: &Domain) -> Value {
    match domain {
        Domain::Id(id) => json!({ "id": id }),
        Domain::Name(name) => json!({ "name": name }),
    }
}
