//! Tests of cipher suites.

use weir_net::tls::{ServerTls, TlsError};

use super::support::{Files, HTTP, connected};

#[tokio::test]
async fn ciphers_are_preferred_in_the_order_of_the_config() {
    let files = Files::new();
    for order in [
        ["TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"],
        ["TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"],
    ] {
        let mut plan = files.tls_in();
        plan.ciphers = order.map(str::to_owned).to_vec();
        let mut pair = connected(&files.connector(), &ServerTls::load(&plan, HTTP).unwrap()).await;
        assert_eq!((pair.server.cipher(), pair.client.cipher()), (Some(order[0]), Some(order[0])));
        pair.exchange().await;
    }
}

#[tokio::test]
async fn every_cipher_passes_data() {
    let files = Files::new();
    let rsa = weir_testkit::certificates::Request::names(&["localhost"])
        .key(weir_testkit::certificates::KeyKind::Rsa);
    let rsa = files.issue("rsa", &rsa);
    for cipher in weir_net::tls::cipher_names() {
        let mut plan = files.tls_in();
        plan.certificates.push(rsa.clone());
        plan.ciphers = vec![cipher.to_owned()];
        let mut pair = connected(&files.connector(), &ServerTls::load(&plan, HTTP).unwrap()).await;
        assert_eq!(pair.server.cipher(), Some(cipher));
        pair.exchange().await;
    }
}

#[test]
fn a_cipher_that_does_not_exist_is_named_together_with_those_that_do() {
    let files = Files::new();
    let mut plan = files.tls_in();
    plan.ciphers = vec!["TLS_AES_128_GCM".to_owned()];
    let error = ServerTls::load(&plan, HTTP).unwrap_err();
    assert!(matches!(&error, TlsError::UnknownCipher(name) if name == "TLS_AES_128_GCM"));
    assert!(error.to_string().contains("TLS_AES_128_GCM_SHA256, "), "{error}");
}
