//! Tests of the choice of certificates by name.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use weir_config::plan::Certificate;
use weir_net::tls::ServerTls;
use weir_testkit::certificates::{KeyKind, Request};

use super::support::{ECDSA, Files, HTTP, RSA, any_certificate, tls_in, with_rustls};

fn der(certificate: &Certificate) -> Vec<u8> {
    CertificateDer::from_pem_file(&certificate.certificate).unwrap().to_vec()
}

#[tokio::test]
async fn the_certificate_follows_the_name_asked_for() {
    let files = Files::new();
    let first = files.issue("first", &Request::names(&["one.test", "uno.test"]));
    let exact = files.issue("exact", &Request::names(&["api.wild.test"]));
    let wild = files.issue("wild", &Request::names(&["*.Wild.test"]));
    let common = files.issue("common", &Request::names(&[]).common_name("Common.test"));
    let ignored = files.issue("ignored", &Request::names(&["other.test"]).common_name("notme.test"));
    let plan = tls_in(vec![first.clone(), exact.clone(), wild.clone(), common.clone(), ignored.clone()]);
    let server = ServerTls::load(&plan, HTTP).unwrap();
    for (name, expected) in [
        ("one.test", &first),
        ("UNO.test", &first),
        ("api.wild.test", &exact),
        ("www.wild.test", &wild),
        ("WWW.WILD.TEST", &wild),
        ("a.b.wild.test", &first),
        ("wild.test", &first),
        ("common.test", &common),
        ("other.test", &ignored),
        ("notme.test", &first),
        ("unknown.test", &first),
        ("127.0.0.1", &first),
    ] {
        let (stream, learnt) = with_rustls(&server, any_certificate(ECDSA), name).await;
        assert_eq!(learnt.unwrap().certificate, der(expected), "{name}");
        let asked = (name != "127.0.0.1").then(|| name.to_lowercase());
        assert_eq!(stream.server_name(), asked.as_deref());
    }
}

#[tokio::test]
async fn the_key_type_follows_the_signatures_that_the_client_can_verify() {
    let files = Files::new();
    let rsa = files.issue("rsa", &Request::names(&["both.test"]).key(KeyKind::Rsa));
    let ecdsa = files.issue("ecdsa", &Request::names(&["both.test"]));
    let only_rsa = files.issue("only", &Request::names(&["rsa.test"]).key(KeyKind::Rsa));
    let server = ServerTls::load(&tls_in(vec![rsa.clone(), ecdsa.clone(), only_rsa.clone()]), HTTP).unwrap();
    let either = [ECDSA, RSA].concat();
    for (name, schemes, expected) in [
        ("both.test", RSA, &rsa),
        ("both.test", ECDSA, &ecdsa),
        ("both.test", &either, &ecdsa),
        // For an unknown name, the default has both kinds, too.
        ("unknown.test", RSA, &rsa),
        ("unknown.test", ECDSA, &ecdsa),
        ("rsa.test", &either, &only_rsa),
    ] {
        let (_, learnt) = with_rustls(&server, any_certificate(schemes), name).await;
        assert_eq!(learnt.unwrap().certificate, der(expected), "{name} {schemes:?}");
    }
    let (_, refused) = with_rustls(&server, any_certificate(ECDSA), "rsa.test").await;
    assert!(refused.unwrap_err().to_string().contains("HandshakeFailure"));
}

#[tokio::test]
async fn a_protocol_is_agreed_only_where_both_name_one() {
    let files = Files::new();
    let speaks = ServerTls::load(&files.tls_in(), &[b"h2", b"http/1.1"]).unwrap();
    let silent = ServerTls::load(&files.tls_in(), &[]).unwrap();
    let offer = |protocols: &[&[u8]]| {
        let mut config = any_certificate(ECDSA);
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        config
    };
    for (server, offered, agreed) in [
        (&speaks, &[&b"http/1.1"[..]][..], Some(&b"http/1.1"[..])),
        (&speaks, &[b"http/1.1", b"h2"], Some(b"h2")),
        (&speaks, &[], None),
        (&silent, &[b"http/1.1"], None),
    ] {
        let (stream, learnt) = with_rustls(server, offer(offered), "localhost").await;
        assert_eq!(learnt.unwrap().alpn.as_deref(), agreed);
        assert_eq!(stream.alpn(), agreed);
    }
    let (_, refused) = with_rustls(&speaks, offer(&[b"spdy/3"]), "localhost").await;
    assert!(refused.unwrap_err().to_string().contains("NoApplicationProtocol"));
}
