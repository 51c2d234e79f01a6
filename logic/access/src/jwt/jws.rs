//! Parser for tokens in the compact form of JWS.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::error::TokenError;
use crate::algorithm::Algorithm;

/// A token split into its parts (RFC 7515 section 7.1), not yet verified.
pub struct Jws<'a> {
    /// Algorithm that the header names.
    pub algorithm: Algorithm,
    /// Id of the signing key that the header names.
    pub key_id: Option<String>,
    /// Kind of token that the header names (`typ`).
    pub token_type: Option<String>,
    /// Bytes that the signature covers.
    pub signing_input: &'a [u8],
    /// Claims, as JSON.
    pub payload: Vec<u8>,
    /// The signature.
    pub signature: Vec<u8>,
}

/// Header members that Weir reads. A duplicate member is an error. Other members are ignored, including those
/// that contain keys.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<serde::de::IgnoredAny>,
}

impl<'a> Jws<'a> {
    /// Maximum length of a token, in bytes.
    pub const BYTES_MAX: usize = 16 * 1024;

    /// Splits and decodes `token`.
    ///
    /// # Errors
    /// If the token is not a JWS in compact form, or if its header demands an unknown algorithm or extension.
    pub fn parse(token: &'a str) -> Result<Self, TokenError> {
        if token.len() > Self::BYTES_MAX {
            return Err(TokenError::TooLong);
        }
        let (signing_input, signature) =
            token.rsplit_once('.').ok_or(TokenError::Malformed("it has not three parts"))?;
        let (header, payload) =
            signing_input.split_once('.').ok_or(TokenError::Malformed("it has not three parts"))?;
        if payload.contains('.') {
            return Err(TokenError::Malformed("it has not three parts"));
        }
        let decode = |part: &str| {
            URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Malformed("a part is not base64url"))
        };
        let header: Header = serde_json::from_slice(&decode(header)?)
            .map_err(|_| TokenError::Malformed("its header is no JSON object with an algorithm"))?;
        if header.crit.is_some() {
            return Err(TokenError::CriticalHeader);
        }
        let algorithm = Algorithm::from_name(&header.alg).ok_or(TokenError::AlgorithmUnknown)?;
        Ok(Self {
            algorithm,
            key_id: header.kid,
            token_type: header.typ,
            signing_input: signing_input.as_bytes(),
            payload: decode(payload)?,
            signature: decode(signature)?,
        })
    }
}
