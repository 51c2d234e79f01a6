//! Switches: the coarse rules of a storage area.

use std::fmt;

use crate::Action;
use crate::identity::Identity;

/// Rules that hold for a whole area.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Switches {
    /// True if all clients may read.
    pub anonymous_read: bool,
    /// True if all authenticated clients may read.
    pub authenticated_read: bool,
    /// True if clients with a certificate may read.
    pub certificate_read: bool,
    /// Organisations whose members, as VOMS states, may perform all actions.
    pub vos: Vec<String>,
    /// True if clients that a VO map file makes members of [`Switches::vos`] may read.
    pub vo_map_read: bool,
    /// True if these clients may also write.
    pub vo_map_write: bool,
    /// Issuers whose tokens are accepted in the area.
    pub issuers: Vec<String>,
    /// True if bearers of their tokens may read.
    pub issuers_read: bool,
    /// True if bearers of their tokens may write.
    pub issuers_write: bool,
}

/// The switch that grants an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant<'a> {
    /// `anonymous-read`
    AnonymousRead,
    /// `authenticated-read`
    AuthenticatedRead,
    /// `certificate-read`
    CertificateRead,
    /// `vos`
    Vo(&'a str),
    /// `vo-map-read`
    VoMapRead(&'a str),
    /// `vo-map-write`
    VoMapWrite(&'a str),
    /// `issuers-read`
    IssuerRead(&'a str),
    /// `issuers-write`
    IssuerWrite(&'a str),
}

impl Switches {
    /// Returns the switch that grants `action`, if one does. Staging moves tapes, so `anonymous-read`,
    /// `authenticated-read` and `certificate-read` do not grant it. Switches for members of an organisation
    /// and for trusted issuers do.
    pub fn grants(&self, identity: &Identity, action: &Action) -> Option<Grant<'_>> {
        if self.anonymous_read && action.is_reading() {
            return Some(Grant::AnonymousRead);
        }
        if self.authenticated_read && action.is_reading() && identity.is_authenticated() {
            return Some(Grant::AuthenticatedRead);
        }
        let reads = action.is_reading() || *action == Action::Stage;
        match identity {
            Identity::Delegated(delegation) => self.grants(&delegation.holder, action),
            Identity::X509(subject) => {
                if let Some(vo) = self.vos.iter().find(|vo| subject.is_voms_member(vo)) {
                    return Some(Grant::Vo(vo));
                }
                if self.certificate_read && action.is_reading() {
                    return Some(Grant::CertificateRead);
                }
                let vo = self.vos.iter().find(|vo| subject.mapped_vos.contains(vo))?;
                match reads {
                    true => self.vo_map_read.then_some(Grant::VoMapRead(vo)),
                    false => self.vo_map_write.then_some(Grant::VoMapWrite(vo)),
                }
            }
            Identity::Token(token) => {
                let issuer = self.issuers.iter().find(|issuer| **issuer == token.issuer)?;
                match reads {
                    true => self.issuers_read.then_some(Grant::IssuerRead(issuer)),
                    false => self.issuers_write.then_some(Grant::IssuerWrite(issuer)),
                }
            }
            Identity::Anonymous | Identity::Basic(_) => None,
        }
    }
}

impl fmt::Display for Grant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnonymousRead => f.write_str("lets anybody read (anonymous-read)"),
            Self::AuthenticatedRead => f.write_str("lets whoever is authenticated read (authenticated-read)"),
            Self::CertificateRead => f.write_str("lets clients with a certificate read (certificate-read)"),
            Self::Vo(vo) => write!(f, "lets members of {vo} read and write (vos)"),
            Self::VoMapRead(vo) => write!(f, "lets mapped members of {vo} read (vo-map-read)"),
            Self::VoMapWrite(vo) => write!(f, "lets mapped members of {vo} write (vo-map-write)"),
            Self::IssuerRead(issuer) => write!(f, "lets bearers of tokens from {issuer} read (issuers-read)"),
            Self::IssuerWrite(issuer) => {
                write!(f, "lets bearers of tokens from {issuer} write (issuers-write)")
            }
        }
    }
}
