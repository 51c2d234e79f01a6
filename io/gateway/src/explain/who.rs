//! As whom a request is judged.

use weir_access::identity::{BasicUser, Identity, Voms, X509Subject};
use weir_access::jwt::TokenError;
use weir_access::token::issuer_of;
use weir_config::Plan;
use weir_config::plan::AreaPlan;

use super::Resource;
use crate::clock::unix_now_s;
use crate::credentials::{Passwords, read_vo_maps};
use crate::identity::{Asked, Identifier};

/// As whom a request is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// Nobody in particular.
    Anonymous,
    /// The bearer of this token.
    Token(String),
    /// The user of this name, as if the password were right.
    User(String),
    /// Who holds a client certificate.
    Certificate(Certificate),
}

/// A client certificate, as if somebody had verified it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Certificate {
    /// Its subject, as RFC 2253 writes it.
    pub subject: String,
    /// Its issuer, in the same form; `None`: any that would do.
    pub issuer: Option<String>,
    /// The organisation that a VOMS server has stated; `None`: none has stated any.
    pub vo: Option<String>,
    /// The groups and roles in it.
    pub fqans: Vec<String>,
}

/// Somebody in an area.
pub(super) struct Somebody {
    pub(super) identity: Identity,
    /// What there is to be said of who that is, and whether it is no obstacle.
    pub(super) said: Option<(bool, String)>,
}

impl Somebody {
    /// Who that is. Reads the files of the area, and fetches the keys of a token's issuer if need be. Blocks.
    ///
    /// # Errors
    /// There can be nobody like that, or it cannot be found out.
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

/// A user, as if the password were right; but whom nobody knows no password lets in.
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

/// The holder of a certificate.
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

/// The bearer of a token.
fn bearer(plan: &Plan, area: &AreaPlan, token: &str, source: &Resource) -> Result<Identity, String> {
    let issuer = issuer_of(token).map_err(|error| format!("the token does not hold: {error}"))?;
    // Keys and passwords that it has nothing to do with need not be readable.
    let mut plan = plan.clone();
    plan.token_endpoints.retain(|endpoint| endpoint.issuer == issuer);
    let identifier = Identifier::new(&plan, &Identifier::default())?;
    let htpasswd = area.htpasswd.as_deref().filter(|_| !plan.token_endpoints.is_empty());
    let users = htpasswd.map(Passwords::read).transpose()?;
    // A token for one request only is none for a question.
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
