//! Explains errors of rustls and webpki in words: the cause and the remedy.

use rustls::pki_types::UnixTime;
use rustls::server::VerifierBuilderError;
use rustls::{
    AlertDescription, CertRevocationListError, CertificateError, Error, OtherError, PeerIncompatible,
};

/// Explains an error of a handshake or of its setup.
pub(super) fn explain(error: &Error) -> String {
    match error {
        Error::NoCertificatesPresented => "the client sent no certificate, and must".to_owned(),
        Error::InvalidCertificate(error) => format!("certificate {}", certificate(error)),
        Error::InvalidCertRevocationList(error) => format!("revocation list: {}", list(error)),
        Error::AlertReceived(alert) => received(*alert),
        Error::PeerIncompatible(why) => incompatible(why),
        Error::PeerMisbehaved(why) => format!("the peer broke the protocol: {}", words(why)),
        Error::InvalidMessage(why) => {
            format!("the peer sent a message that cannot be parsed: {}", words(why))
        }
        Error::NoApplicationProtocol => "no application protocol (ALPN) in common".to_owned(),
        Error::InappropriateMessage { got_type, .. } => {
            format!("the peer sent a record out of turn: {}", words(got_type))
        }
        Error::InappropriateHandshakeMessage { got_type, .. } => {
            format!("the peer sent a handshake message out of turn: {}", words(got_type))
        }
        Error::DecryptError => "a record cannot be decrypted".to_owned(),
        Error::General(text) => text.clone(),
        Error::Other(OtherError(inner)) => inner.to_string(),
        other => other.to_string(),
    }
}

/// Explains why authorities and revocation lists made no verifier.
pub(super) fn explain_builder(error: &VerifierBuilderError) -> String {
    match error {
        VerifierBuilderError::NoRootAnchors => "there is no authority".to_owned(),
        VerifierBuilderError::InvalidCrl(error) => list(error),
        _ => error.to_string(),
    }
}

fn certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => "issued by no authority that is trusted here: add that authority, or \
             this very certificate, to the file named in `ca`"
            .to_owned(),
        CertificateError::ExpiredContext { time, not_after } => {
            format!("expired {} ago: renew it", span(*not_after, *time))
        }
        CertificateError::Expired => "expired: renew it".to_owned(),
        CertificateError::NotValidYetContext { time, not_before } => {
            format!("not valid yet, but in {}: is the clock right?", span(*time, *not_before))
        }
        CertificateError::NotValidYet => "not valid yet: is the clock right?".to_owned(),
        CertificateError::Revoked => "revoked".to_owned(),
        CertificateError::UnknownRevocationStatus => {
            "covered by no list in the file named in `crl`: add the list of its issuer".to_owned()
        }
        CertificateError::ExpiredRevocationListContext { time, next_update } => format!(
            "covered by a stale revocation list, due {} ago: renew the file named in `crl`",
            span(*next_update, *time)
        ),
        CertificateError::ExpiredRevocationList => {
            "covered by a stale revocation list: renew the file named in `crl`".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names = match presented.as_slice() {
                [] => "it has no subject alternative name".to_owned(),
                names => format!("it is for {}", names.join(", ")),
            };
            format!(
                "not valid for name {:?}; {names}: issue one for that name, or say in `server-name` what it is for",
                expected.to_str()
            )
        }
        CertificateError::NotValidForName => "not valid for this name".to_owned(),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "not for this purpose: its extended key usage lacks serverAuth (of a server) or clientAuth (of a client)"
                .to_owned()
        }
        CertificateError::BadSignature => "with a wrong signature, in it or on the handshake".to_owned(),
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "signed in a way that Weir does not verify: SHA-1, RSA under 2048 or over 8192 bits, a curve other than \
             P-256, P-384, P-521 and Ed25519"
                .to_owned()
        }
        CertificateError::BadEncoding => "that cannot be parsed".to_owned(),
        CertificateError::UnhandledCriticalExtension => "with a critical extension that Weir does not know".to_owned(),
        CertificateError::Other(OtherError(inner)) => match inner.downcast_ref() {
            Some(error) => of_webpki(error),
            None => inner.to_string(),
        },
        other => words(other),
    }
}

fn of_webpki(error: &webpki::Error) -> String {
    match error {
        webpki::Error::CaUsedAsEndEntity => {
            "that is an authority's (CA:TRUE): name this very certificate in `ca`, or \
             issue one with CA:FALSE"
                .to_owned()
        }
        webpki::Error::EndEntityUsedAsCa => {
            "issued by one that is no authority's (no CA:TRUE in its basic constraints)".to_owned()
        }
        webpki::Error::UnsupportedCertVersion => {
            "of X.509 version 1 or 2: issue one of version 3, with subject alternative names".to_owned()
        }
        webpki::Error::NameConstraintViolation => {
            "for a name that its authority may not issue for".to_owned()
        }
        webpki::Error::PathLenConstraintViolated => {
            "with more authorities in its chain than one of them permits".to_owned()
        }
        other => words(other),
    }
}

fn list(error: &CertRevocationListError) -> String {
    match error {
        CertRevocationListError::BadSignature => "its signature is wrong".to_owned(),
        CertRevocationListError::IssuerInvalidForCrl => {
            "its issuer may not sign lists (no cRLSign in its key usage)".to_owned()
        }
        CertRevocationListError::ParseError => {
            "a list cannot be parsed: it needs a time of its next update, and the extensions of version 2 or none"
                .to_owned()
        }
        CertRevocationListError::UnsupportedDeltaCrl => "a delta list: give the whole list".to_owned(),
        CertRevocationListError::UnsupportedIndirectCrl => {
            "an indirect list: give the list of each authority itself".to_owned()
        }
        CertRevocationListError::Other(OtherError(inner)) => match inner.downcast_ref::<webpki::Error>() {
            Some(error) => words(error),
            None => inner.to_string(),
        },
        other => words(other),
    }
}

fn incompatible(why: &PeerIncompatible) -> String {
    use PeerIncompatible as P;
    match why {
        P::NoCipherSuitesInCommon => {
            "no cipher suite in common: Weir speaks ECDHE with AES-GCM or ChaCha20-Poly1305, \
             not CBC, RSA key exchange or DHE"
                .to_owned()
        }
        P::NoKxGroupsInCommon | P::NamedGroupsExtensionRequired => {
            "no key exchange group in common: Weir speaks \
             X25519MLKEM768, X25519, P-256, P-384 and P-521"
                .to_owned()
        }
        P::NoSignatureSchemesInCommon
        | P::SignatureAlgorithmsExtensionRequired
        | P::NoCertificateRequestSignatureSchemesInCommon => {
            "no signature scheme in common that suits the certificate's key: Weir does not sign with SHA-1"
                .to_owned()
        }
        P::ServerDoesNotSupportTls12Or13
        | P::ServerTlsVersionIsDisabledByOurConfig
        | P::SupportedVersionsExtensionRequired
        | P::Tls12NotOffered
        | P::Tls12NotOfferedOrEnabled => {
            "no TLS version in common: Weir speaks 1.2 and 1.3, from the configured `min-version` on"
                .to_owned()
        }
        other => format!("the peer lacks what Weir requires: {}", words(other)),
    }
}

fn received(alert: AlertDescription) -> String {
    use AlertDescription as A;
    let meaning = match alert {
        A::UnknownCA => "it does not trust the authority of the certificate that it was shown",
        A::BadCertificate | A::CertificateUnknown | A::UnsupportedCertificate => {
            "it does not accept the certificate that it was shown"
        }
        A::CertificateExpired => "the certificate that it was shown is expired, or not valid yet",
        A::CertificateRevoked => "the certificate that it was shown is revoked",
        A::CertificateRequired | A::NoCertificate => "it requires a certificate: see `client-certificate`",
        A::AccessDenied => "it denies access to the certificate that it was shown",
        A::ProtocolVersion => "it speaks none of the TLS versions offered, 1.2 and 1.3",
        A::HandshakeFailure | A::InsufficientSecurity => {
            "it accepts no cipher suite, group, signature or certificate that was offered; Weir speaks no CBC and no \
             RSA key exchange"
        }
        A::UnrecognisedName => "it does not know the server name that was sent: see `server-name`",
        A::NoApplicationProtocol => "it speaks none of the application protocols (ALPN) offered",
        _ => return format!("the peer ended the connection with the alert {}", name_of(alert)),
    };
    format!("the peer ended the connection with the alert {}: {meaning}", name_of(alert))
}

/// Returns the alert's name as in the RFCs (RFC 8446 section 6).
fn name_of(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::UnknownCA => "unknown_ca".to_owned(),
        AlertDescription::UnrecognisedName => "unrecognized_name".to_owned(),
        AlertDescription::UnknownPSKIdentity => "unknown_psk_identity".to_owned(),
        AlertDescription::Unknown(number) => number.to_string(),
        other => words(&other).replace(' ', "_"),
    }
}

/// Converts the name of a variant to words; rustls has no other text for most of them.
fn words(variant: &impl std::fmt::Debug) -> String {
    let name = format!("{variant:?}");
    let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let mut text = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

fn span(from: UnixTime, until: UnixTime) -> String {
    let seconds = until.as_secs().saturating_sub(from.as_secs());
    match seconds {
        0..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::{InvalidMessage, PeerMisbehaved};

    use super::*;

    fn of_webpki(error: webpki::Error) -> Error {
        Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(error))))
    }

    /// Messages must not show how rustls names or nests its errors.
    #[test]
    fn no_text_is_the_debug_text_of_an_error() {
        for error in [
            Error::InvalidCertificate(CertificateError::UnknownIssuer),
            Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure),
            Error::AlertReceived(AlertDescription::HandshakeFailure),
            Error::AlertReceived(AlertDescription::BadRecordMac),
            Error::AlertReceived(AlertDescription::UnknownCA),
            Error::AlertReceived(AlertDescription::Unknown(200)),
            Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
            Error::PeerIncompatible(PeerIncompatible::NullCompressionRequired),
            Error::PeerMisbehaved(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme),
            Error::InvalidMessage(InvalidMessage::MissingData("ClientHello")),
            of_webpki(webpki::Error::CaUsedAsEndEntity),
            of_webpki(webpki::Error::TrailingData(webpki::DerTypeId::Certificate)),
        ] {
            let text = explain(&error);
            for sign in ["::", "(\"", "{", "Error(", "Context", "CaUsed", "UnknownIssuer", "HandshakeFailure"]
            {
                assert!(!text.contains(sign), "{text}");
            }
            assert!(!text.is_empty());
        }
    }

    #[test]
    fn what_is_deliberately_not_spoken_is_named() {
        let text = explain(&Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon));
        assert!(text.contains("not CBC, RSA key exchange"), "{text}");
        assert_eq!(
            explain(&Error::AlertReceived(AlertDescription::BadRecordMac)),
            "the peer ended the connection with the alert bad_record_mac"
        );
    }
}
