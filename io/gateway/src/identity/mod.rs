//! Identification of clients: verifies the credentials of a request.

mod fetch;
mod issuer;
mod keeper;
mod own;

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use weir_access::basic::{Authorization, decode_client_credentials, parse_authorization};
use weir_access::identity::{
    BadPassword, Identity, Presented, ProxyHeaderFault, TokenIdentity, TrustedProxies, X509Subject,
    certificate_from_headers,
};
use weir_access::issue::{EndpointPage, Presentation};
use weir_access::jwt::{KeySearch, TokenError};
use weir_access::token::issuer_of;
use weir_access::www_authenticate::{self, Schemes};
use weir_access::{AccessPath, Action};
use weir_config::Plan;
use weir_config::plan::{AreaPlan, TokenEndpointPlan};
use weir_net::service::Request;
use weir_net::ticket::{Errand, PARAMETER, TicketError};

use crate::area::Area;
use crate::clock::unix_now_s;
use crate::credentials::{PasswordChecks, Passwords};
use crate::place::Place;
use crate::refusal::Refusal;
use issuer::TrustedIssuer;
use keeper::Keeper;
pub(crate) use own::OwnTokens;

/// Maximum wait for new keys, for a request whose token fits none of the known keys.
const KEYS_PATIENCE: Duration = Duration::from_secs(3);

/// Verifies credentials against all trusted issuers, token endpoints and password files.
#[derive(Debug, Default)]
pub(crate) struct Identifier {
    issuers: HashMap<String, Arc<TrustedIssuer>>,
    /// Token endpoints that issue Weir's own tokens, by name.
    own: HashMap<String, Arc<OwnTokens>>,
    /// Fetches the keys of issuers; `None` if no issuers are configured.
    keeper: Option<Arc<Keeper>>,
    /// Checks passwords; `None` if no area has users.
    password_checks: Option<Arc<PasswordChecks>>,
}

impl Identifier {
    /// Creates an identifier for the issuers of a plan. Unchanged issuers keep their keys. Blocks on the
    /// disk.
    pub(crate) fn new(plan: &Plan, before: &Self) -> Result<Arc<Self>, String> {
        let mut own = HashMap::new();
        for endpoint in &plan.token_endpoints {
            let made = OwnTokens::new(plan, endpoint);
            let mut made = made.map_err(|error| format!("token endpoint {}: {error}", endpoint.name))?;
            if let Some(before) = before.own.get(endpoint.name.as_str()) {
                made.keep_count_of(before);
            }
            own.insert(endpoint.name.to_string(), Arc::new(made));
        }
        let password_checks = match &before.password_checks {
            _ if plan.storage_areas.iter().all(|area| area.htpasswd.is_none()) => None,
            Some(before) => Some(Arc::clone(before)),
            None => {
                let made = PasswordChecks::new();
                Some(Arc::new(made.ok_or("passwords: the system has no random numbers")?))
            }
        };
        let plans = &plan.token_issuers;
        if plans.is_empty() {
            return Ok(Arc::new(Self { own, password_checks, ..Self::default() }));
        }
        let keeper = match &before.keeper {
            Some(keeper) => Arc::clone(keeper),
            None => Arc::new(Keeper::start()?),
        };
        let mut issuers = HashMap::new();
        for plan in plans {
            let same = before.issuers.get(&plan.issuer).filter(|before| before.plan == *plan);
            let issuer = match same {
                Some(same) => Arc::clone(same),
                None => {
                    let made = TrustedIssuer::new(plan);
                    let made = made.map_err(|error| format!("token issuer {}: {error}", plan.name))?;
                    let made = Arc::new(made);
                    keeper.keep(&made);
                    made
                }
            };
            issuers.insert(plan.issuer.clone(), issuer);
        }
        Ok(Arc::new(Self { issuers, own, keeper: Some(keeper), password_checks }))
    }

    /// Returns the token endpoint of an area.
    pub(crate) fn own(&self, area: &AreaPlan) -> Option<&Arc<OwnTokens>> {
        self.own.get(area.token_endpoint.as_ref()?.as_str())
    }

    /// Returns the token endpoint and the page that a request names by host and path. Pages of an issuer take
    /// precedence over files at the same path.
    pub(crate) fn published_at(&self, request: &Request) -> Option<(&Arc<OwnTokens>, EndpointPage)> {
        let host = request.host()?;
        let mut own = self.own.values().filter(|own| own.endpoint.is_at(host));
        own.find_map(|own| {
            let page = own.endpoint.page(request.path())?;
            (page != EndpointPage::Token).then_some((own, page))
        })
    }

    /// Identifies the client of a request to an area.
    ///
    /// # Errors
    /// If the credentials are invalid.
    pub(crate) async fn identify(
        &self,
        area: &Area,
        request: &Request,
        now_s: u64,
    ) -> Result<Identity, Refusal> {
        if !may_tell_who(area, request) {
            return Ok(Identity::Anonymous);
        }
        // Boxed, because most downloads do not need this large future.
        Box::pin(self.identify_with(area, request, now_s, false)).await
    }

    /// Identifies the client of a token request. User and password may be form-encoded, as OAuth clients send
    /// them.
    ///
    /// # Errors
    /// If the credentials are invalid.
    pub(crate) async fn identify_client(
        &self,
        area: &Area,
        request: &Request,
        now_s: u64,
    ) -> Result<Identity, Refusal> {
        self.identify_with(area, request, now_s, true).await
    }

    async fn identify_with(
        &self,
        area: &Area,
        request: &Request,
        now_s: u64,
        may_be_encoded: bool,
    ) -> Result<Identity, Refusal> {
        let malformed = || refused(www_authenticate::Refusal::MalformedCredential, &area.schemes);
        let certificate = certificate(area, request, now_s).map_err(|_| malformed())?;
        let mut presented = Presented { certificate, ..Presented::default() };
        let mut authorizations = request.headers("Authorization");
        let authorization = authorizations.next();
        if authorizations.next().is_some() {
            return Err(malformed());
        }
        let passed_on = passed_on(area, request, now_s)?;
        // Clients drop the Authorization header when they follow a redirect to another host. The ticket
        // carries it instead.
        let authorization = match passed_on.as_deref().or(authorization) {
            None => Authorization::Other,
            Some(value) => std::str::from_utf8(value)
                .ok()
                .and_then(|value| parse_authorization(value).ok())
                .ok_or_else(malformed)?,
        };
        let in_url = if area.plan.token_in_url { token_in(request).map_err(|()| malformed())? } else { None };
        let token = match (authorization, in_url) {
            (Authorization::Bearer(_), Some(_)) => return Err(malformed()),
            (Authorization::Bearer(token), None) => Some(token),
            (Authorization::Basic { user, password }, token) => {
                let decoded = decode_client_credentials(&user, &password).filter(|_| may_be_encoded);
                let checked = match (&area.passwords, &self.password_checks) {
                    (Some(passwords), Some(checks)) => {
                        let client = client_of(request);
                        let plain = Box::pin(passwords.check(checks, client, &user, password, now_s)).await?;
                        match decoded {
                            Some((user, password)) if plain.is_err() => {
                                Box::pin(passwords.check(checks, client, &user, password, now_s)).await?
                            }
                            _ => plain,
                        }
                    }
                    _ => Err(BadPassword),
                };
                presented.basic = Some(checked);
                token
            }
            (Authorization::Other, token) => token,
        };
        if let Some(token) = token {
            let path = Place::of(area, request.path()).and_then(|place| place.access_path());
            let asked = Asked {
                area: &area.plan,
                passwords: area.passwords.as_deref(),
                method: std::str::from_utf8(request.method()).unwrap_or_default(),
                // A path outside the area becomes the default path, which no token for a single path covers.
                path: path.unwrap_or_default(),
                client: request.client,
            };
            presented.token = Some(Box::pin(self.bearer(&token, &asked, now_s)).await);
        }
        let mut identity = presented
            .settle()
            .map_err(|fault| refused(www_authenticate::Refusal::Credential(&fault), &area.schemes))?;
        // Applies also to the certificate behind a token. A member removed from the VO files since then loses
        // the VO.
        identity.map_vos(&area.vo_map);
        Ok(identity)
    }

    /// Verifies a bearer token and returns the identity of its holder.
    pub(crate) async fn bearer(
        &self,
        token: &str,
        asked: &Asked<'_>,
        now_s: u64,
    ) -> Result<Identity, TokenError> {
        let issuer = issuer_of(token)?;
        if let Some(own) = self.own(asked.area).filter(|own| own.plan.issuer == issuer) {
            let client = asked.client.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
            let presentation = Presentation { path: &asked.path, method: asked.method, client };
            let identity = own.verify(token, &presentation, now_s)?;
            let trusts = |token: &TokenIdentity| {
                self.issuers.get(&token.issuer).is_some_and(|issuer| issuer.accepts(token, now_s))
            };
            return if own.knows_holder(&identity, asked, &trusts) {
                Ok(identity)
            } else {
                Err(TokenError::HolderUnknown)
            };
        }
        let issuer = self.issuers.get(&issuer).ok_or(TokenError::IssuerUnknown)?;
        foreign(issuer, token).await.map(|token| Identity::Token(Box::new(token)))
    }
}

/// Verifies a token of another issuer. Waits for new keys if none of the present keys fits.
async fn foreign(issuer: &TrustedIssuer, token: &str) -> Result<TokenIdentity, TokenError> {
    let deadline = Instant::now() + KEYS_PATIENCE;
    loop {
        // Subscribe before the keys are read, so that no fetch in between is missed.
        let mut news = issuer.subscribe();
        let now_s = unix_now_s();
        // An issuer may reuse the key ID for a new key, or use none. Then the signature fails instead of the
        // key lookup.
        let (error, version) = match issuer.verify(token, now_s) {
            (Err(error @ (TokenError::KeyUnknown { .. } | TokenError::SignatureInvalid)), version) => {
                (error, version)
            }
            (verified, _) => return verified,
        };
        let retry_after_secs = match issuer.search(token, version, now_s) {
            KeySearch::Missing => return Err(error),
            KeySearch::Changed => continue,
            KeySearch::Fetching if timeout_at(deadline, news.changed()).await.is_ok() => continue,
            KeySearch::Fetching => 1,
            KeySearch::Later(seconds) => seconds,
        };
        let issuer = issuer.plan.issuer.clone();
        return Err(TokenError::KeysUnavailable { issuer, retry_after_secs });
    }
}

/// The request for which a token is presented.
pub(crate) struct Asked<'a> {
    pub(crate) area: &'a AreaPlan,
    /// Users of the area.
    pub(crate) passwords: Option<&'a Passwords>,
    pub(crate) method: &'a str,
    pub(crate) path: AccessPath,
    /// Address of the client; `None` on a Unix socket.
    pub(crate) client: Option<IpAddr>,
}

/// An unusable key of a token endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongKey {
    /// True for a previous key, false for the current one.
    pub is_previous: bool,
    /// The file and its error.
    pub cause: String,
}

impl fmt::Display for WrongKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl std::error::Error for WrongKey {}

/// Checks that an endpoint can issue tokens: reads its keys. Blocks on the disk.
///
/// # Errors
/// If a key cannot be read or the issuer's URL is invalid.
pub fn check_token_endpoint(plan: &Plan, endpoint: &TokenEndpointPlan) -> Result<(), WrongKey> {
    OwnTokens::new(plan, endpoint).map(drop)
}

/// Returns true if a request or its connection may carry credentials.
pub(crate) fn may_tell_who(area: &Area, request: &Request) -> bool {
    let has_certificate = request.tls.as_ref().is_some_and(|tls| !tls.subject.is_empty());
    let has_proxies = !area.plan.identity_from.is_empty();
    let is_in_query = request.query.is_some() && (area.plan.token_in_url || area.tickets.is_some());
    has_certificate || has_proxies || is_in_query || request.header("Authorization").is_some()
}

/// Returns the subject of the client certificate that TLS, or a trusted proxy in front, has verified. The
/// certificate of the proxy itself is ignored.
///
/// # Errors
/// If the proxy's headers are malformed.
fn certificate(area: &Area, request: &Request, now_s: u64) -> Result<Option<X509Subject>, ProxyHeaderFault> {
    let proxies = &area.plan.identity_from;
    let peer = request.peer.map(|peer| peer.ip().to_canonical());
    if let Some(peer) = peer.filter(|peer| proxies.iter().any(|network| network.contains(peer))) {
        // A header that is not valid UTF-8 matches no header name or value that is expected here.
        let lines: Vec<_> = request
            .pairs()
            .map(|(name, value)| (String::from_utf8_lossy(name), String::from_utf8_lossy(value)))
            .collect();
        let lines = lines.iter().map(|(name, value)| (name.as_ref(), value.as_ref()));
        return certificate_from_headers(&TrustedProxies(proxies.clone()), peer, now_s, lines);
    }
    let tls = request.tls.as_ref().filter(|tls| !tls.subject.is_empty());
    Ok(tls.map(|tls| X509Subject {
        subject: tls.subject.clone(),
        issuer: Some(tls.issuer.clone()).filter(|issuer| !issuer.is_empty()),
        not_after_unix_secs: tls.not_after_unix_secs,
        ..X509Subject::default()
    }))
}

/// Returns `access_token` from the query (RFC 6750 section 2.3).
fn token_in(request: &Request) -> Result<Option<String>, ()> {
    let query = request.query().unwrap_or_default();
    let mut tokens = query.split(|byte| *byte == b'&').filter_map(|pair| pair.strip_prefix(b"access_token="));
    match (tokens.next(), tokens.next()) {
        (None, _) => Ok(None),
        // Tokens contain no characters that need percent-encoding.
        (Some(token), None) => String::from_utf8(token.to_vec()).map(Some).map_err(drop),
        (Some(_), Some(_)) => Err(()),
    }
}

/// Returns the Authorization value that a redirect ticket carries: the client sent it to the redirecting
/// server.
fn passed_on(area: &Area, request: &Request, now_s: u64) -> Result<Option<Vec<u8>>, Refusal> {
    let Some(tickets) = &area.tickets else { return Ok(None) };
    let query = request.query().unwrap_or_default();
    let ticket = |pair: &'_ [u8]| {
        let value = pair.strip_prefix(PARAMETER.as_bytes())?.strip_prefix(b"=")?;
        Some(value.to_vec())
    };
    let mut all = query.split(|byte| *byte == b'&').filter_map(ticket);
    let (Some(ticket), more) = (all.next(), all.next()) else { return Ok(None) };
    let forged = Refusal::Ticket(TicketError::Forged);
    let (None, Some(client)) = (more, request.client) else { return Err(forged) };
    let errand = Errand { method: request.method(), path: request.path(), client };
    tickets.open(&ticket, &errand, now_s).map_err(Refusal::Ticket)
}

/// Builds the refusal of an action that the client is not permitted to do.
pub(crate) fn denied(identity: &Identity, action: &Action, schemes: &Schemes) -> Refusal {
    refused(www_authenticate::Refusal::Denied { identity, action }, schemes)
}

/// Builds the same refusal for a known path. It asks for a token with wider scope only if that could help.
pub(crate) fn denied_at(
    identity: &Identity,
    action: &Action,
    path: &AccessPath,
    schemes: &Schemes,
) -> Refusal {
    refused(www_authenticate::Refusal::denied(identity, action, path), schemes)
}

fn refused(refusal: www_authenticate::Refusal<'_>, schemes: &Schemes) -> Refusal {
    Refusal::Access(www_authenticate::answer(refusal, schemes))
}

/// Returns the client's address for rate limits. All clients of a Unix socket count as one.
fn client_of(request: &Request) -> IpAddr {
    request.client.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED))
}
