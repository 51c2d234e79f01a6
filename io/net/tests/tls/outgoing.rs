//! Tests of connections to servers.

use weir_config::plan::TlsOut;
use weir_net::tls::{ClientTls, ServerTls, TlsError};
use weir_testkit::certificates::{Authority, Request};

use super::support::{Files, HTTP, connected, shake_hands, tls_in};

fn connector(plan: &TlsOut, host: &str) -> weir_net::tls::TlsConnector {
    ClientTls::load(plan).unwrap().connector(host).unwrap()
}

#[tokio::test]
async fn a_server_is_verified_by_dns_name_or_address() {
    let files = Files::new();
    let certificate = files.issue("server", &Request::names(&["localhost", "127.0.0.1", "::1"]));
    let server = ServerTls::load(&tls_in(vec![certificate]), HTTP).unwrap();
    for host in ["localhost", "127.0.0.1", "::1", "[::1]"] {
        connected(&connector(&files.tls_out(), host), &server).await.exchange().await;
    }
    for host in ["example.test", "127.0.0.2"] {
        let pair = shake_hands(&connector(&files.tls_out(), host), &server).await;
        let error = pair.at_client.unwrap_err().to_string();
        assert!(error.contains("not valid for name"), "{error}");
        assert!(pair.at_server.is_err());
    }
}

#[tokio::test]
async fn the_configured_name_is_sent_and_verified_instead_of_the_host() {
    let files = Files::new();
    let certificate = files.issue("server", &Request::names(&["service.test"]));
    let server = ServerTls::load(&tls_in(vec![certificate]), HTTP).unwrap();
    let plan = TlsOut { server_name: Some("service.test".to_owned()), ..files.tls_out() };
    let pair = connected(&connector(&plan, "10.0.0.1"), &server).await;
    assert_eq!(pair.server.server_name(), Some("service.test"));
}

#[tokio::test]
async fn expired_and_unknown_servers_are_refused_unless_verification_is_off() {
    let files = Files::new();
    let expired = files.issue("expired", &Request::names(&["localhost"]).expired());
    let stranger = Authority::new("Stranger").issue(&Request::names(&["localhost"]));
    let stranger = stranger.write_to(files.directory.path(), "stranger");
    let stranger = weir_config::plan::Certificate { certificate: stranger.certificate, key: stranger.key };
    for (certificate, reason) in [(expired, "expired"), (stranger, "issued by no authority")] {
        let server = ServerTls::load(&tls_in(vec![certificate]), HTTP).unwrap();
        let pair = shake_hands(&files.connector(), &server).await;
        let error = pair.at_client.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        let plan = TlsOut { verify: false, ca: None, ..files.tls_out() };
        connected(&connector(&plan, "localhost"), &server).await.exchange().await;
    }
}

#[tokio::test]
async fn sessions_with_one_server_are_not_offered_to_another() {
    let files = Files::new();
    let (one, two) =
        (ServerTls::load(&files.tls_in(), HTTP).unwrap(), ServerTls::load(&files.tls_in(), HTTP).unwrap());
    let tls = ClientTls::load(&files.tls_out()).unwrap();
    let (to_one, to_two) = (tls.connector("localhost").unwrap(), tls.connector("localhost").unwrap());
    for (resumed, _) in [(false, ()), (true, ())] {
        for (connector, server) in [(&to_one, &one), (&to_two, &two)] {
            let mut pair = connected(connector, server).await;
            pair.exchange().await;
            assert_eq!(pair.client.is_resumed(), resumed);
        }
    }
}

#[test]
fn a_name_that_is_none_is_refused() {
    let files = Files::new();
    let tls = ClientTls::load(&files.tls_out()).unwrap();
    for host in ["", "a b", "/run/server.sock", "-"] {
        assert!(matches!(tls.connector(host), Err(TlsError::ServerName(name)) if name == host), "{host:?}");
    }
}

#[test]
fn the_authorities_of_the_system_are_used_where_none_are_named() {
    let files = Files::new();
    let plan = TlsOut { ca: None, ..files.tls_out() };
    // A system without any authority must report that error.
    match ClientTls::load(&plan) {
        Ok(tls) => assert!(tls.connector("example.test").is_ok()),
        Err(error) => assert!(matches!(error, TlsError::NoSystemAuthorities(_)), "{error}"),
    }
}

/// Creates a certificate as `openssl req -x509` does: self-signed, with CA:TRUE.
fn self_signed(files: &Files, name: &str) -> weir_config::plan::Certificate {
    use weir_testkit::certificates::SelfSigned;
    let issued = SelfSigned::for_name(name).write_to(files.directory.path(), name);
    weir_config::plan::Certificate { certificate: issued.certificate, key: issued.key }
}

#[tokio::test]
async fn a_self_signed_authority_is_accepted_as_a_server_where_its_own_certificate_is_named() {
    let files = Files::new();
    let (named, other) = (self_signed(&files, "named.test"), self_signed(&files, "other.test"));
    let plan = TlsOut { ca: Some(named.certificate.clone()), ..files.tls_out() };
    let server = ServerTls::load(&tls_in(vec![named.clone()]), HTTP).unwrap();
    connected(&connector(&plan, "named.test"), &server).await.exchange().await;
    // The name is still checked.
    let refused =
        shake_hands(&connector(&plan, "other.test"), &server).await.at_client.unwrap_err().to_string();
    assert!(refused.contains("not valid for name") && refused.contains("named.test"), "{refused}");
    // Another certificate with the same name is not pinned.
    let namesake = self_signed(&files, "named.test");
    let server = ServerTls::load(&tls_in(vec![namesake]), HTTP).unwrap();
    std::fs::write(plan.ca.as_ref().unwrap(), std::fs::read(&other.certificate).unwrap()).unwrap();
    let refused =
        shake_hands(&connector(&plan, "named.test"), &server).await.at_client.unwrap_err().to_string();
    assert!(refused.contains("that is an authority's (CA:TRUE)"), "{refused}");
}
