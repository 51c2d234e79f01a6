//! Shared helpers: signing keys, claims, and identities.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use weir_access::AccessPath;
use weir_access::identity::{Identity, TokenIdentity, Voms, X509Subject};
use weir_access::wlcg::ScopeSet;

pub(crate) const NOW: u64 = 1_800_000_000;
pub(crate) const ISSUER: &str = "https://tokens.example/cms";

pub(crate) enum Signer {
    /// ECDSA key and the name of its curve.
    Ec(EcdsaKeyPair, &'static str),
    Ed25519(Ed25519KeyPair),
    Rsa(Box<RsaKeyPair>),
}

impl Signer {
    pub(crate) fn p256() -> Self {
        Self::ec(&signature::ECDSA_P256_SHA256_FIXED_SIGNING, "P-256")
    }

    pub(crate) fn p384() -> Self {
        Self::ec(&signature::ECDSA_P384_SHA384_FIXED_SIGNING, "P-384")
    }

    pub(crate) fn p521() -> Self {
        Self::ec(&signature::ECDSA_P521_SHA512_FIXED_SIGNING, "P-521")
    }

    fn ec(algorithm: &'static EcdsaSigningAlgorithm, curve: &'static str) -> Self {
        Self::Ec(EcdsaKeyPair::generate(algorithm).unwrap(), curve)
    }

    pub(crate) fn ed25519() -> Self {
        Self::Ed25519(Ed25519KeyPair::generate().unwrap())
    }

    pub(crate) fn rsa() -> Self {
        Self::Rsa(Box::new(RsaKeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap()))
    }

    pub(crate) fn sign(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Ec(pair, _) => pair.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec(),
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Self::Rsa(pair) => {
                let encoding = match algorithm {
                    "RS384" => &signature::RSA_PKCS1_SHA384,
                    "RS512" => &signature::RSA_PKCS1_SHA512,
                    "PS256" => &signature::RSA_PSS_SHA256,
                    "PS384" => &signature::RSA_PSS_SHA384,
                    "PS512" => &signature::RSA_PSS_SHA512,
                    _ => &signature::RSA_PKCS1_SHA256,
                };
                let mut made = vec![0; pair.public_modulus_len()];
                pair.sign(encoding, &SystemRandom::new(), message, &mut made).unwrap();
                made
            }
        }
    }

    /// Returns the public half as a JWK, with the additional members of `more`.
    pub(crate) fn jwk(&self, more: Value) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut jwk = match self {
            // The byte 4, then x and y of the same length.
            Self::Ec(pair, curve) => {
                let point: &[u8] = pair.public_key().as_ref();
                let (x, y) = point[1..].split_at(point.len() / 2);
                json!({ "kty": "EC", "crv": curve, "x": text(x), "y": text(y) })
            }
            Self::Ed25519(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key().as_ref()) })
            }
            // RSAPublicKey in DER: 30 82 LL LL, 02 82 01 01 00 and 256 bytes of n, 02 03 and e.
            Self::Rsa(pair) => {
                let der = pair.public_key().as_ref();
                json!({ "kty": "RSA", "n": text(&der[8..265]), "e": text(&der[der.len() - 3..]) })
            }
        };
        for (name, value) in more.as_object().unwrap() {
            jwk[name] = value.clone();
        }
        jwk
    }

    pub(crate) fn token(&self, header: &Value, claims: &Value) -> String {
        let text = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let input = format!("{}.{}", text(header), text(claims));
        let made = self.sign(header["alg"].as_str().unwrap_or_default(), input.as_bytes());
        format!("{input}.{}", URL_SAFE_NO_PAD.encode(made))
    }
}

/// Returns claims of the WLCG profile that are valid at [`NOW`].
pub(crate) fn claims(scope: &str) -> Value {
    json!({
        "iss": ISSUER, "sub": "jo", "aud": "https://wlcg.cern.ch/jwt/v1/any", "exp": NOW + 600, "iat": NOW - 5,
        "nbf": NOW - 5, "jti": "t1", "wlcg.ver": "1.0", "scope": scope, "wlcg.groups": ["/cms", "/cms/prod"],
    })
}

pub(crate) fn path(text: &str) -> AccessPath {
    AccessPath::from_encoded(text).unwrap()
}

pub(crate) fn bearer(scopes: &str, groups: &[&str]) -> Identity {
    let words = || scopes.split(' ').filter(|word| !word.is_empty());
    Identity::Token(Box::new(TokenIdentity {
        issuer: ISSUER.to_owned(),
        subject: "jo".to_owned(),
        client_id: Some("robot".to_owned()),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        scopes: words().map(str::to_owned).collect(),
        storage_scopes: ScopeSet::parse(words()),
        audience: Vec::new(),
        profile: None,
        expires_unix_secs: NOW + 600,
        token_id: None,
    }))
}

pub(crate) fn member(vo: &str, fqans: &[&str]) -> Identity {
    let fqans = fqans.iter().map(|fqan| (*fqan).to_owned()).collect();
    Identity::X509(Box::new(X509Subject {
        subject: "CN=Jo,O=Example,C=IT".to_owned(),
        voms: Some(Voms { vo: vo.to_owned(), fqans, not_after_unix_secs: Some(NOW + 100) }),
        ..X509Subject::default()
    }))
}
