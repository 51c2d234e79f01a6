use std::fmt;

use super::algorithm::Algorithm;

/// Why a token is not accepted. Shows nothing of the token: issuers are named as the configuration names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenError {
    /// Over [`Jws::BYTES_MAX`](super::Jws::BYTES_MAX).
    TooLong,
    /// Not a JWS in compact form: what is wrong with it.
    Malformed(&'static str),
    /// `alg` is `none`, or no algorithm that we know.
    AlgorithmUnknown,
    /// The issuer is not permitted this algorithm.
    AlgorithmNotPermitted {
        /// As configured.
        issuer: String,
        /// What the token is signed with.
        algorithm: Algorithm,
    },
    /// `crit` demands something of us.
    CriticalHeader,
    /// `iss` names nobody who is trusted.
    IssuerUnknown,
    /// No key of the issuer fits the token's key id and algorithm: its key set may be out of date.
    KeyUnknown {
        /// As configured.
        issuer: String,
    },
    /// The keys of the issuer, or newer ones, cannot be had at the moment: whether the token holds is not known.
    KeysUnavailable {
        /// As configured.
        issuer: String,
        /// When they are asked for again, in seconds; at least 1.
        retry_after_secs: u64,
    },
    /// It is another kind of token: why that is known.
    NotAccessToken(&'static str),
    /// No key that fits has made the signature.
    SignatureInvalid,
    /// A claim that must be there is not.
    ClaimMissing(&'static str),
    /// A claim has a value that it cannot have.
    ClaimInvalid(&'static str),
    /// `exp` has passed.
    Expired {
        /// How long ago, in seconds.
        ago_secs: u64,
    },
    /// `nbf` is still to come.
    NotYetValid {
        /// In how many seconds.
        in_secs: u64,
    },
    /// `iat` is still to come: a clock is wrong.
    IssuedInFuture {
        /// In how many seconds.
        in_secs: u64,
    },
    /// `exp` is further off than the issuer's tokens may live.
    LivesTooLong,
    /// `aud` names others.
    AudienceWrong,
    /// The token is bound to another path, method or client.
    Bound(&'static str),
    /// Who asked for one of our own tokens is nobody whom the storage area knows, or not any more.
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
