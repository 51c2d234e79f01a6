//! Identity for which `weir storage explain` evaluates a request.

use weir_access::identity::{BasicUser, Identity, Voms, X509Subject};
use weir_access::jwt::TokenError;
use weir_access::token::issuer_of;
use weir_config::Plan;
use weir_config::plan::AreaPlan;

use super::Resource;
use crate::clock::unix_now_s;
use crate::credentials::{Passwords, read_vo_maps};
use crate::identity::{Asked, Identifier};

/// Identity for which a request is evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// An anonymous client.
    Anonymous,
    /// The holder of this token.
    Token(String),
    /// The user with this name, with a correct password assumed.
    User(String),
    /// The holder of a client certificate.
    Certificate(Certificate),
}

/// A client certificate, assumed to be verified.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Certificate {
    /// Subject of the certificate, in the form of RFC 2253.
    pub subject: String,
    /// Issuer in the same form; `None` means any accepted issuer.
    pub issuer: Option<String>,
    /// Virtual organisation from VOMS; `None` if there is none.
    pub vo: Option<String>,
    /// VOMS groups and roles.
    pub fqans: Vec<String>,
}

/// An identity in an area.
pub(super) struct Somebody {
    pub(super) identity: Identity,
    /// A remark about the identity, with false if it denies the request.
    pub(super) said: Option<(bool, String)>,
}

impl Somebody {
    /// Resolves the identity. Reads the files of the area, and fetches the keys of a token's issuer if
    /// necessary. Blocks.
    ///
    /// # Errors
    /// If the identity is impossible in this area, or cannot be verified.
    pub(super) fn of(plan: &Plan, area: &AreaPlan, who: Who, source: &Resource) -> Result<Self, String> {
        match who {
            Who::Anonymous => Ok(Self { identity: Identity::Anonymous, said: None }),
            Who::User(name) => user(area, name),
            Who::Certificate(certificate) => holder(area, certificate),
            Who::Token(token) => {
                let identity = bearer(plan, area, &token, source)?;
                Ok(Self { identity, said: None })
            }
        }
    }
}

/// Returns the user, with a correct password assumed. Denies a user that is not in the htpasswd file.
fn user(area: &AreaPlan, name: String) -> Result<Somebody, String> {
    let is_there = match area.htpasswd.as_deref() {
        Some(file) => Passwords::read(file)?.hash_of(&name).is_some(),
        None => false,
    };
    let identity = Identity::Basic(BasicUser { name });
    let said = match &area.htpasswd {
        _ if is_there => None,
        Some(file) => Some((false, format!("denied: {} knows no {identity}", file.display()))),
        None => Some((false, format!("denied: the area has no htpasswd, so nobody is {identity}"))),
    };
    Ok(Somebody { identity, said })
}

/// Returns the holder of a certificate.
fn holder(area: &AreaPlan, certificate: Certificate) -> Result<Somebody, String> {
    let Certificate { subject, issuer, vo, fqans } = certificate;
    if vo.is_some() && area.identity_from.is_empty() {
        return Err(format!(
            "in storage area {} no VOMS attributes count: identity-from names no proxy that tells of them",
            area.name
        ));
    }
    let maps = read_vo_maps(&area.vo_maps).map_err(|cause| format!("vo-maps: {cause}"))?;
    let (mapped_vos, said) = match &issuer {
        Some(issuer) => (maps.vos(&subject, Some(issuer.as_str())), None),
        None => {
            let (all, by_any) = (maps.vos_by_any_issuer(&subject), maps.vos(&subject, None));
            let by_one: Vec<&str> =
                all.iter().map(String::as_str).filter(|vo| !by_any.iter().any(|other| other == vo)).collect();
            let vos = by_one.join(", ");
            let text =
                format!("vo-maps: taken for a member of {vos}, as if by the issuer of the map (--issuer)");
            (all, (!vos.is_empty()).then_some((true, text)))
        }
    };
    let voms = vo.map(|vo| Voms { vo, fqans, not_after_unix_secs: None });
    let x509 = X509Subject { subject, issuer, voms, mapped_vos, not_after_unix_secs: None };
    Ok(Somebody { identity: Identity::X509(Box::new(x509)), said })
}

/// Verifies a token and returns its holder.
fn bearer(plan: &Plan, area: &AreaPlan, token: &str, source: &Resource) -> Result<Identity, String> {
    let issuer = issuer_of(token).map_err(|error| format!("the token does not hold: {error}"))?;
    // Unrelated keys and password files need not be readable.
    let mut plan = plan.clone();
    plan.token_endpoints.retain(|endpoint| endpoint.issuer == issuer);
    let identifier = Identifier::new(&plan, &Identifier::default())?;
    let htpasswd = area.htpasswd.as_deref().filter(|_| !plan.token_endpoints.is_empty());
    let users = htpasswd.map(Passwords::read).transpose()?;
    // The empty method matches no token that is bound to a single request.
    let (passwords, path) = (users.as_ref(), source.access_path()?);
    let asked = Asked { area, passwords, method: "", path, client: None };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("event loop: {error}"))?;
    let bearer = runtime.block_on(identifier.bearer(token, &asked, unix_now_s()));
    let mut bearer = bearer.map_err(|error| match error {
        TokenError::KeysUnavailable { .. } => format!("the token cannot be verified: {error}"),
        error => format!("the token does not hold: {error}"),
    })?;
    if matches!(bearer, Identity::Delegated(_)) {
        let maps = read_vo_maps(&area.vo_maps).map_err(|cause| format!("vo-maps: {cause}"))?;
        bearer.map_vos(&maps);
    }
    Ok(bearer)
}
