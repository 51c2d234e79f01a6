//! Reasons why a token is rejected.

use std::fmt;

use crate::algorithm::Algorithm;

/// Reason why a token is rejected. It shows no part of the token; issuers are named as in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenError {
    /// The token is longer than [`Jws::BYTES_MAX`](super::Jws::BYTES_MAX).
    TooLong,
    /// The token is not a JWS in compact form; the text describes the error.
    Malformed(&'static str),
    /// `alg` is `none` or an unknown algorithm.
    AlgorithmUnknown,
    /// The configuration does not permit this algorithm to the issuer.
    AlgorithmNotPermitted {
        /// Issuer, as configured.
        issuer: String,
        /// Algorithm of the token.
        algorithm: Algorithm,
    },
    /// The header has `crit`, which demands an extension; Weir supports none.
    CriticalHeader,
    /// `iss` is not a trusted issuer.
    IssuerUnknown,
    /// No key of the issuer fits the token's key id and algorithm; the key set may be out of date.
    KeyUnknown {
        /// Issuer, as configured.
        issuer: String,
    },
    /// The issuer's keys, or newer ones, cannot be fetched at the moment, so the validity of the token is
    /// unknown.
    KeysUnavailable {
        /// Issuer, as configured.
        issuer: String,
        /// Seconds until the next fetch; at least 1.
        retry_after_secs: u64,
    },
    /// The token is of another kind; the text gives the reason.
    NotAccessToken(&'static str),
    /// No key that fits made the signature.
    SignatureInvalid,
    /// A required claim is missing.
    ClaimMissing(&'static str),
    /// A claim has an invalid value.
    ClaimInvalid(&'static str),
    /// `exp` has passed.
    Expired {
        /// Seconds since the expiry.
        ago_secs: u64,
    },
    /// `nbf` is in the future.
    NotYetValid {
        /// Seconds until the token becomes valid.
        in_secs: u64,
    },
    /// `iat` is in the future, so a clock is wrong.
    IssuedInFuture {
        /// Seconds until the time of issue.
        in_secs: u64,
    },
    /// `exp` is later than the lifetime limit of the issuer permits.
    LivesTooLong,
    /// `aud` does not name this service.
    AudienceWrong,
    /// The token is bound to another path, method or client.
    Bound(&'static str),
    /// The holder of one of Weir's own tokens is unknown in the storage area, or no longer known.
    HolderUnknown,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("too long"),
            Self::Malformed(why) => write!(f, "malformed: {why}"),
            Self::AlgorithmUnknown => f.write_str("no signature algorithm that is known here"),
            Self::AlgorithmNotPermitted { issuer, algorithm } => {
                write!(f, "{issuer} is not permitted to sign with {algorithm}")
            }
            Self::CriticalHeader => f.write_str("its header demands an extension that is not known here"),
            Self::IssuerUnknown => f.write_str("its issuer is not trusted"),
            Self::KeyUnknown { issuer } => write!(f, "no key of {issuer} fits it"),
            Self::KeysUnavailable { issuer, .. } => {
                write!(f, "the keys of {issuer} cannot be had at the moment")
            }
            Self::NotAccessToken(why) => f.write_str(why),
            Self::SignatureInvalid => f.write_str("wrong signature"),
            Self::ClaimMissing(claim) => write!(f, "claim {claim} is missing"),
            Self::ClaimInvalid(claim) => write!(f, "claim {claim} is invalid"),
            Self::Expired { ago_secs } => write!(f, "expired {ago_secs} s ago"),
            Self::NotYetValid { in_secs } => write!(f, "valid only in {in_secs} s"),
            Self::IssuedInFuture { in_secs } => write!(f, "issued {in_secs} s in the future"),
            Self::LivesTooLong => f.write_str("it lives longer than its issuer's tokens may"),
            Self::AudienceWrong => f.write_str("it is meant for another audience"),
            Self::Bound(to) => write!(f, "it is bound to another {to}"),
            Self::HolderUnknown => {
                f.write_str("its holder is not known in this storage area, or not any more")
            }
        }
    }
}

impl std::error::Error for TokenError {}
