//! Token endpoint for Weir's own tokens, with its metadata and keys, and requests for macaroons.

use std::fmt::Display;
use std::sync::Arc;

use serde_json::json;
use weir_access::identity::Identity;
use weir_access::issue::{
    EndpointPage, Grant, Issued, MacaroonError, MacaroonRequest, RequestError, TokenRequest, error_response,
    macaroon_response, narrow, token_response,
};
use weir_access::wlcg::ScopeSet;
use weir_access::{AccessPath, Action, www_authenticate};
use weir_dav::outcome::Outcome;
use weir_net::service::{Answer, Body, Content, Request};

use crate::area::Area;
use crate::area::access_point::access_path;
use crate::areas::Areas;
use crate::clock::unix_now_s;
use crate::crypto::{self, AwsLc};
use crate::identity::OwnTokens;
use crate::place::Place;
use crate::refusal::Refusal;

/// A request for a token, or for the data needed to verify one.
pub(crate) struct Issuing {
    areas: Arc<Areas>,
    /// Area that received the request. Its users and certificates apply.
    area: Arc<Area>,
    own: Arc<OwnTokens>,
    wanted: Wanted,
}

enum Wanted {
    Page(EndpointPage),
    Macaroon,
}

/// The reason why no token is issued.
enum NoToken {
    /// An OAuth error. It has challenges if credentials would help.
    Request(RequestError, Vec<String>),
    /// An error of a macaroon request.
    Macaroon(MacaroonError),
    /// Any other refusal of the area.
    Refusal(Refusal),
}

impl Issuing {
    /// Recognizes a request for a token or a page of an issuer; `None` for all other requests.
    pub(crate) fn of(areas: &Arc<Areas>, area: &Arc<Area>, request: &Request) -> Option<Self> {
        let own = areas.identifier.own(&area.plan);
        let page = own.and_then(|own| Some((own, own.endpoint.page(request.path())?)));
        let (own, wanted) = match (page.or_else(|| areas.identifier.published_at(request)), own) {
            (Some((own, page)), _) => (own, Wanted::Page(page)),
            (None, Some(own)) if request.method() == b"POST" && is_for_macaroon(request) => {
                (own, Wanted::Macaroon)
            }
            (None, _) => return None,
        };
        Some(Self { areas: Arc::clone(areas), area: Arc::clone(area), own: Arc::clone(own), wanted })
    }

    pub(crate) async fn answer(self, request: Request, mut body: Body) -> Answer {
        let method = request.method();
        let wants_token = match self.wanted {
            Wanted::Page(EndpointPage::Token) => method == b"POST",
            Wanted::Page(_) => false,
            Wanted::Macaroon => true,
        };
        if wants_token && let Err(seconds) = self.own.ask(&request) {
            return self.too_often(seconds);
        }
        match self.wanted {
            Wanted::Page(EndpointPage::Token) if method == b"POST" => {
                match self.token(&request, &mut body).await {
                    Ok(issued) => secret(200, token_response(&issued)),
                    Err(NoToken::Refusal(Refusal::TooManyPasswords(seconds))) => self.too_often(seconds),
                    Err(error) => self.refuse(error, &request),
                }
            }
            Wanted::Page(EndpointPage::Token) => not_allowed("POST"),
            Wanted::Page(_) if method != b"GET" && method != b"HEAD" => not_allowed("GET, HEAD"),
            Wanted::Page(EndpointPage::Keys) => public(&self.own.minting.keys.public_key_set()),
            Wanted::Page(EndpointPage::Metadata) => public(&self.own.metadata()),
            Wanted::Macaroon => match self.macaroon(&request, &mut body).await {
                Ok(issued) => secret(200, macaroon_response(&issued)),
                Err(NoToken::Refusal(Refusal::TooManyPasswords(seconds))) => self.too_often(seconds),
                // Macaroon clients get one error format, also for OAuth errors.
                Err(NoToken::Request(error, _)) => no_macaroon(error_response(&error).0, &error),
                Err(error) => self.refuse(error, &request),
            },
        }
    }

    /// Responds that there is no token. Wrong credentials count as guesses, which cost more than one request.
    fn refuse(&self, error: NoToken, request: &Request) -> Answer {
        let is_guess = match &error {
            NoToken::Request(error, _) => *error == RequestError::Client,
            NoToken::Refusal(Refusal::Access(refused)) => refused.status == 401,
            NoToken::Refusal(_) | NoToken::Macaroon(_) => false,
        };
        // Many clients send a first request without credentials to learn the scheme.
        if is_guess && request.header("Authorization").is_some() {
            self.own.failed(request);
        }
        error.answer(&self.area, request)
    }

    fn too_often(&self, seconds: u64) -> Answer {
        let error = RequestError::TooOften(seconds);
        let (status, text) = error_response(&error);
        let answer = match self.wanted {
            Wanted::Macaroon => no_macaroon(status, &error),
            Wanted::Page(_) => secret(status, text),
        };
        answer.with("Retry-After", seconds.to_string())
    }

    async fn token(&self, request: &Request, body: &mut Body) -> Result<Issued, NoToken> {
        let now_s = unix_now_s();
        let identity = match self.areas.identifier.identify_client(&self.area, request, now_s).await {
            Ok(identity) => identity,
            Err(Refusal::Access(refused)) if refused.status == 400 => {
                let error = RequestError::Invalid("the credentials of the request are malformed");
                return Err(NoToken::Request(error, Vec::new()));
            }
            Err(Refusal::Access(refused)) if refused.status < 500 => {
                return Err(NoToken::Request(RequestError::Client, refused.challenges));
            }
            Err(refusal) => return Err(NoToken::Refusal(refusal)),
        };
        if !identity.is_authenticated() {
            let asked = www_authenticate::Refusal::Denied { identity: &identity, action: &Action::Stat };
            let asked = www_authenticate::answer(asked, &self.area.schemes);
            return Err(NoToken::Request(RequestError::Client, asked.challenges));
        }
        let read =
            body.read_all(TokenRequest::BYTES_MAX).await.map_err(|_| NoToken::Refusal(Refusal::Body))?;
        let form = read.ok_or(RequestError::Invalid("the form is too long"))?;
        let content_type = request.header("Content-Type").and_then(|value| std::str::from_utf8(value).ok());
        let asked = TokenRequest::parse(content_type, &form)?;
        self.issue(&identity, &asked.scopes, asked.lifetime_secs, now_s)
    }

    async fn macaroon(&self, request: &Request, body: &mut Body) -> Result<Issued, NoToken> {
        let now_s = unix_now_s();
        let target = Place::of(&self.area, request.path())?.access_path()?;
        let identity =
            self.areas.identifier.identify(&self.area, request, now_s).await.map_err(NoToken::Refusal)?;
        if !identity.is_authenticated() {
            return Err(NoToken::Refusal(crate::identity::denied(
                &identity,
                &Action::Stat,
                &self.area.schemes,
            )));
        }
        let read =
            body.read_all(MacaroonRequest::BYTES_MAX).await.map_err(|_| NoToken::Refusal(Refusal::Body))?;
        let document = read.ok_or(Outcome::BodyTooLarge)?;
        let document: &[u8] = if document.trim_ascii().is_empty() { b"{}" } else { &document };
        let asked = MacaroonRequest::parse(document, &target).map_err(NoToken::Macaroon)?;
        self.issue(&identity, &asked.scopes, asked.lifetime_secs, now_s)
    }

    /// Issues a token, narrowed to the actions that the rules of all accepting areas permit.
    fn issue(
        &self,
        identity: &Identity,
        scopes: &ScopeSet,
        lifetime_secs: Option<u64>,
        now_s: u64,
    ) -> Result<Issued, NoToken> {
        let areas: Vec<&Arc<Area>> =
            self.areas.by_name.values().filter(|area| self.counts(identity, area)).collect();
        let points = areas.iter().flat_map(|area| &area.points);
        let mut roots: Vec<AccessPath> =
            points.filter_map(|point| access_path(&point.path, true).ok()).collect();
        roots.sort();
        let may = |action: &Action, path: &AccessPath| self.may_below(identity, action, path);
        let token_id: [u8; 16] = crypto::random().ok_or(Outcome::Failed)?;
        let grant = Grant {
            holder: identity,
            scopes: narrow(scopes, &roots, may),
            lifetime_secs: Some(lifetime_secs.unwrap_or(self.own.plan.lifetime.0 / 1000)),
            binding: None,
            password_hash: match identity {
                Identity::Basic(user) => {
                    self.area.passwords.as_deref().and_then(|passwords| passwords.hash_of(&user.name))
                }
                _ => None,
            },
            area: self.area.plan.name.to_string(),
            token_id: token_id.iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        Ok(self.own.minting.issue(grant, &AwsLc, now_s).map_err(RequestError::from)?)
    }

    /// Returns true if the identity may do this at a path and everywhere below it. Both the area with the
    /// closest access point above the path and all areas with access points below it must permit it. Other
    /// verifiers of the token understand its scope that way.
    fn may_below(&self, identity: &Identity, action: &Action, path: &AccessPath) -> bool {
        let may = |area: &Area, path: &AccessPath| {
            self.counts(identity, area) && area.rules.permits_below(identity, action, path)
        };
        let depth = |area: &Area| Some(area.rules.access_point_above(path)?.components().len());
        let areas = self.areas.by_name.values();
        let closest = areas.clone().filter_map(|area| depth(area)).max();
        let further_down = |area: &Area| {
            area.rules
                .access_points()
                .iter()
                .filter(|point| path.is_above(point))
                .all(|point| may(area, point))
        };
        closest.is_some()
            && areas.clone().any(|area| depth(area) == closest && may(area, path))
            && areas.clone().all(|area| further_down(area))
    }

    /// Returns true if a token for an identity that was proved in this area is valid in another area.
    fn counts(&self, identity: &Identity, other: &Area) -> bool {
        let (here, there) = (self.area.plan.name.as_str(), other.plan.name.as_str());
        other.plan.token_endpoint.as_ref() == Some(&self.own.plan.name)
            && match identity {
                Identity::Basic(_) => self.own.shares_users(here, there),
                // The other area may be reached through a listener that trusts other authorities.
                Identity::X509(_) => here == there,
                _ => true,
            }
    }
}

impl NoToken {
    fn answer(self, area: &Area, request: &Request) -> Answer {
        match self {
            Self::Refusal(refusal) => refusal.answer(area.offer(), request),
            Self::Macaroon(error) => no_macaroon(400, &error),
            Self::Request(error, challenges) => {
                let (status, text) = error_response(&error);
                // A 401 must have a challenge (RFC 9110 section 15.5.2).
                let status = if status == 401 && challenges.is_empty() { 400 } else { status };
                challenges.into_iter().fold(secret(status, text), |answer, challenge| {
                    answer.with("WWW-Authenticate", challenge)
                })
            }
        }
    }
}

impl From<RequestError> for NoToken {
    fn from(error: RequestError) -> Self {
        Self::Request(error, Vec::new())
    }
}

impl From<Outcome> for NoToken {
    fn from(outcome: Outcome) -> Self {
        Self::Refusal(outcome.into())
    }
}

fn is_for_macaroon(request: &Request) -> bool {
    let value = request.header("Content-Type").unwrap_or_default();
    let media = value.split(|byte| *byte == b';').next().unwrap_or_default();
    media.trim_ascii().eq_ignore_ascii_case(b"application/macaroon-request")
}

fn no_macaroon(status: u16, error: &dyn Display) -> Answer {
    secret(status, json!({ "status": status, "error": error.to_string() }).to_string())
}

/// Builds a response that must not be cached (RFC 6749 section 5.1).
fn secret(status: u16, body: String) -> Answer {
    Answer::new(status)
        .with("Cache-Control", "no-store")
        .with("Pragma", "no-cache")
        .content("application/json", Content::Bytes(body.into_bytes()))
}

/// Builds a response that any cache may keep.
fn public(document: &serde_json::Value) -> Answer {
    Answer::new(200)
        .with("Cache-Control", "max-age=300")
        .content("application/json", Content::Bytes(document.to_string().into_bytes()))
}

fn not_allowed(methods: &'static str) -> Answer {
    Answer::new(405).with("Allow", methods)
}
