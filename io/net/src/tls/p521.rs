//! Key exchange on the curve P-521.

use aws_lc_rs::agreement::{ECDH_P521, EphemeralPrivateKey, PublicKey, UnparsedPublicKey, agree_ephemeral};
use aws_lc_rs::rand::SystemRandom;
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved};

/// Ephemeral Diffie-Hellman on P-521 (RFC 8422 section 5.1).
///
/// rustls lacks it. In TLS 1.2 the list of groups also names the curves of certificates, so a server with a
/// P-521 key rejects a client that does not list the curve.
#[derive(Debug)]
pub(super) struct Secp521r1;

struct KeyExchange {
    private: EphemeralPrivateKey,
    public: PublicKey,
}

/// First byte of an uncompressed point, the only form that TLS permits (RFC 8446 section 4.2.8.2).
const UNCOMPRESSED: u8 = 4;

impl SupportedKxGroup for Secp521r1 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let private = EphemeralPrivateKey::generate(&ECDH_P521, &SystemRandom::new())
            .map_err(|_| Error::FailedToGetRandomBytes)?;
        let public = private.compute_public_key().map_err(|_| Error::FailedToGetRandomBytes)?;
        Ok(Box::new(KeyExchange { private, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}

impl ActiveKeyExchange for KeyExchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let refused = || Error::from(PeerMisbehaved::InvalidKeyShare);
        if peer.first() != Some(&UNCOMPRESSED) {
            return Err(refused());
        }
        let peer = UnparsedPublicKey::new(&ECDH_P521, peer);
        agree_ephemeral(self.private, peer, refused(), |secret| Ok(SharedSecret::from(secret)))
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_ref()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}
