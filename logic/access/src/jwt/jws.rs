use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::algorithm::Algorithm;
use super::error::TokenError;

/// A token taken apart (RFC 7515 section 7.1), not yet verified.
pub struct Jws<'a> {
    /// What it claims to be signed with.
    pub algorithm: Algorithm,
    /// Which key it claims to be signed with.
    pub key_id: Option<String>,
    /// What kind of token it claims to be (`typ`).
    pub token_type: Option<String>,
    /// What is signed.
    pub signing_input: &'a [u8],
    /// The claims as JSON.
    pub payload: Vec<u8>,
    /// The signature.
    pub signature: Vec<u8>,
}

/// Members of the header that are looked at. A member that stands twice is an error; others, those that bring keys among
/// them, are ignored.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<serde::de::IgnoredAny>,
}

impl<'a> Jws<'a> {
    /// Longest token, in bytes.
    pub const BYTES_MAX: usize = 16 * 1024;

    /// Takes `token` apart.
    ///
    /// # Errors
    /// It is no JWS in compact form, or its header asks for what we do not know.
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
