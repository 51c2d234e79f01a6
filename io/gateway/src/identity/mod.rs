//! Who is asking: what a request presents, verified.

mod fetch;
mod issuer;
mod keeper;
mod passwords;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use weir_access::Action;
use weir_access::basic::{Authorization, parse_authorization};
use weir_access::identity::{BadPassword, Identity, Presented, X509Subject};
use weir_access::jwt::{TokenError, issuer_of};
use weir_access::www_authenticate::{self, Schemes};
use weir_config::plan::TokenIssuerPlan;
use weir_dav::outcome::Outcome;
use weir_net::service::Request;

use crate::area::Area;
use crate::refusal::Refusal;
use issuer::TrustedIssuer;
use keeper::Keeper;
pub(crate) use passwords::Passwords;

/// A request with a token whose key is not known waits so long for new keys.
const KEYS_PATIENCE: Duration = Duration::from_secs(3);

/// Knows who to trust.
#[derive(Debug, Default)]
pub(crate) struct Identifier {
    issuers: HashMap<String, Arc<TrustedIssuer>>,
    /// Fetches keys; `None` = nobody's.
    keeper: Option<Arc<Keeper>>,
}

impl Identifier {
    /// Trusts these issuers. Those that are as before keep their keys. Blocks on the disk.
    pub(crate) fn new(plans: &[TokenIssuerPlan], before: &Self) -> Result<Arc<Self>, String> {
        if plans.is_empty() {
            return Ok(Arc::default());
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
        Ok(Arc::new(Self { issuers, keeper: Some(keeper) }))
    }

    /// Who asks for something in an area.
    ///
    /// # Errors
    /// What is presented does not hold.
    pub(crate) async fn identify(
        &self,
        area: &Area,
        request: &Request,
        now_s: u64,
    ) -> Result<Identity, Refusal> {
        let malformed = || refused(www_authenticate::Refusal::MalformedCredential, &area.schemes);
        let mut presented = Presented { certificate: certificate(request), ..Presented::default() };
        let mut authorizations = request.headers("Authorization");
        let authorization = authorizations.next();
        if authorizations.next().is_some() {
            return Err(malformed());
        }
        let authorization = match authorization {
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
                let checked = match &area.passwords {
                    None => Err(BadPassword),
                    Some(passwords) => passwords.check(&user, password, now_s).await?,
                };
                presented.basic = Some(checked);
                token
            }
            (Authorization::Other, token) => token,
        };
        if let Some(token) = token {
            presented.token = Some(self.bearer(&token, now_s).await);
        }
        presented
            .settle()
            .map_err(|fault| refused(www_authenticate::Refusal::Credential(&fault), &area.schemes))
    }

    /// The bearer of a token.
    pub(crate) async fn bearer(&self, token: &str, now_s: u64) -> Result<Identity, TokenError> {
        let issuer = self.issuers.get(&issuer_of(token)?).ok_or(TokenError::IssuerUnknown)?;
        let verified = match issuer.verify(token, now_s) {
            Err(error @ TokenError::KeyUnknown { .. }) => {
                let mut news = issuer.subscribe();
                if !issuer.ask_again(now_s) {
                    return Err(error);
                }
                // Whether there are new keys or not, the token is judged by what there is then.
                let _ = timeout(KEYS_PATIENCE, news.changed()).await;
                issuer.verify(token, now_s)
            }
            verified => verified,
        };
        verified.map(|token| Identity::Token(Box::new(token)))
    }
}

/// The subject of the certificate that TLS has verified.
fn certificate(request: &Request) -> Option<X509Subject> {
    let tls = request.tls.as_ref().filter(|tls| !tls.subject.is_empty())?;
    Some(X509Subject { subject: tls.subject.clone(), ..X509Subject::default() })
}

/// `access_token` of the query (RFC 6750 section 2.3).
fn token_in(request: &Request) -> Result<Option<String>, ()> {
    let query = request.query().unwrap_or_default();
    let mut tokens = query.split(|byte| *byte == b'&').filter_map(|pair| pair.strip_prefix(b"access_token="));
    match (tokens.next(), tokens.next()) {
        (None, _) => Ok(None),
        // Nothing in a token needs an escape.
        (Some(token), None) => String::from_utf8(token.to_vec()).map(Some).map_err(drop),
        (Some(_), Some(_)) => Err(()),
    }
}

/// The refusal of what somebody may not do.
pub(crate) fn denied(identity: &Identity, action: &Action, schemes: &Schemes) -> Refusal {
    refused(www_authenticate::Refusal::Denied { identity, action }, schemes)
}

fn refused(refusal: www_authenticate::Refusal<'_>, schemes: &Schemes) -> Refusal {
    Refusal::Access(www_authenticate::answer(refusal, schemes))
}

/// The pool of threads for passwords is full.
pub(crate) const TOO_MANY: Refusal = Refusal::Outcome(Outcome::Unavailable);
