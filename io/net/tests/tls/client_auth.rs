//! Tests of client certificates.

use std::time::{Duration, SystemTime};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use weir_config::plan::{Certificate, TlsIn, TlsOut};
use weir_net::tls::{ClientTls, ServerTls, TlsConnector, TlsFailure};
use weir_testkit::certificates::{Authority, Request};

use super::support::{Await, Files, HTTP, Pair, connected, shake_hands, within};

const DAY: Duration = Duration::from_secs(86_400);

fn shows(files: &Files, certificate: &Certificate) -> TlsConnector {
    let plan = TlsOut { client_certificate: Some(certificate.clone()), ..files.tls_out() };
    ClientTls::load(&plan).unwrap().connector("localhost").unwrap()
}

fn asks(files: &Files, required: bool, crl: Option<&str>) -> TlsIn {
    let mut rules = files.client_auth(required);
    rules.crl = crl.map(|crl| files.write("crl.pem", crl));
    TlsIn { client_auth: Some(rules), ..files.tls_in() }
}

/// Returns the server's error and the client's error.
async fn refused(mut pair: Pair) -> (String, String) {
    let error = pair.at_server.as_ref().expect_err("the client is refused");
    assert!(matches!(TlsFailure::of(error), Some(TlsFailure::Protocol(_))), "{error}");
    // In TLS 1.3 the client's handshake ends before the server examines the certificate.
    let heard = match pair.at_client {
        Ok(()) => within(pair.client.receive(&mut [0; 16])).await.unwrap_err(),
        Err(error) => error,
    };
    (error.to_string(), heard.to_string())
}

#[tokio::test]
async fn a_certificate_of_the_authority_is_accepted_and_known() {
    let files = Files::new();
    let certificate = files.issue("client", &Request::names(&[]).common_name("alice"));
    let server = ServerTls::load(&asks(&files, true, None), HTTP).unwrap();
    let connector = shows(&files, &certificate);
    let shown = CertificateDer::from_pem_file(&certificate.certificate).unwrap();
    for resumed in [false, true] {
        let mut pair = connected(&connector, &server).await;
        pair.exchange().await;
        assert_eq!(pair.server.is_resumed(), resumed);
        assert_eq!(pair.server.peer_certificate(), Some(&shown));
    }
}

#[tokio::test]
async fn without_a_certificate_only_an_optional_request_lets_a_client_in() {
    let files = Files::new();
    let optional = ServerTls::load(&asks(&files, false, None), HTTP).unwrap();
    let mut pair = connected(&files.connector(), &optional).await;
    pair.exchange().await;
    assert_eq!(pair.server.peer_certificate(), None);

    let required = ServerTls::load(&asks(&files, true, None), HTTP).unwrap();
    let (says, hears) = refused(shake_hands(&files.connector(), &required).await).await;
    assert_eq!(says, "TLS: the client sent no certificate, and must");
    assert!(hears.contains("certificate_required"), "{hears}");
}

#[tokio::test]
async fn a_certificate_that_is_no_good_is_refused_and_where_none_is_required_it_counts_as_none() {
    let files = Files::new();
    let stranger =
        Authority::new("Stranger").issue(&Request::names(&[])).write_to(files.directory.path(), "stranger");
    let stranger = Certificate { certificate: stranger.certificate, key: stranger.key };
    let expired = files.issue("expired", &Request::names(&[]).expired());
    let early = files
        .issue("early", &Request::names(&[]).valid(SystemTime::now() + DAY, SystemTime::now() + 2 * DAY));
    for required in [false, true] {
        let server = ServerTls::load(&asks(&files, required, None), HTTP).unwrap();
        for (certificate, reason, alert) in [
            (&stranger, "issued by no authority that is trusted here", "unknown_ca"),
            (&expired, "expired", "certificate_expired"),
            (&early, "not valid yet", "certificate_expired"),
        ] {
            let connector = shows(&files, certificate);
            if required {
                let (says, hears) = refused(shake_hands(&connector, &server).await).await;
                assert!(says.contains(reason), "{says}");
                assert!(hears.contains(alert), "{hears}");
                continue;
            }
            // A resumed session must not turn it into an accepted certificate.
            for resumed in [false, true] {
                let mut pair = connected(&connector, &server).await;
                pair.exchange().await;
                assert_eq!(pair.server.is_resumed(), resumed);
                assert_eq!(pair.server.peer_certificate(), None);
                assert_eq!(pair.server.peer_subject(), None);
                let why = pair.server.rejected_certificate().unwrap();
                assert!(why.contains(reason), "{why}");
            }
        }
    }
}

#[tokio::test]
async fn a_revoked_certificate_is_refused_and_the_others_are_not() {
    let files = Files::new();
    let revoked = files.authority.issue(&Request::names(&[]));
    let crl = files.authority.revoke(&[&revoked], SystemTime::now() + DAY);
    let revoked = revoked.write_to(files.directory.path(), "revoked");
    let revoked = Certificate { certificate: revoked.certificate, key: revoked.key };
    let good = files.issue("good", &Request::names(&[]));
    let server = ServerTls::load(&asks(&files, true, Some(&crl)), HTTP).unwrap();
    connected(&shows(&files, &good), &server).await.exchange().await;
    let (says, hears) = refused(shake_hands(&shows(&files, &revoked), &server).await).await;
    assert!(says.contains("revoked"), "{says}");
    assert!(hears.contains("certificate_revoked"), "{hears}");
}

#[tokio::test]
async fn a_stale_or_missing_revocation_list_lets_nobody_in() {
    let files = Files::new();
    let good = files.issue("good", &Request::names(&[]));
    let stale = files.authority.revoke(&[], SystemTime::now() - DAY);
    let others = Authority::new("Stranger").revoke(&[], SystemTime::now() + DAY);
    for (crl, reason) in [(stale, "stale revocation list"), (others, "covered by no list")] {
        let server = ServerTls::load(&asks(&files, true, Some(&crl)), HTTP).unwrap();
        let (says, _) = refused(shake_hands(&shows(&files, &good), &server).await).await;
        assert!(says.contains(reason), "{says}");
    }
}

#[tokio::test]
async fn a_certificate_that_is_revoked_meanwhile_is_refused_once_the_list_is_read_again() {
    let files = Files::new();
    let issued = files.authority.issue(&Request::names(&[]));
    let client = issued.write_to(files.directory.path(), "client");
    let client = Certificate { certificate: client.certificate, key: client.key };
    let list = |revoked: &[_]| files.authority.revoke(revoked, SystemTime::now() + DAY);
    let server = ServerTls::load(&asks(&files, true, Some(&list(&[]))), HTTP).unwrap();
    let (connector, other) =
        (shows(&files, &client), shows(&files, &files.issue("other", &Request::names(&[]))));
    let mut under_way = connected(&connector, &server).await;
    under_way.exchange().await;

    files.write("crl.pem", &list(&[&issued]));
    assert!(server.reload_if_changed().unwrap());
    // The same connector: if it resumed its earlier session, it would not send its certificate again.
    let (says, hears) = refused(shake_hands(&connector, &server).await).await;
    assert!(says.contains("revoked") && hears.contains("certificate_revoked"), "{says} {hears}");
    connected(&other, &server).await.exchange().await;
    under_way.exchange().await;

    files.write("crl.pem", "nonsense");
    server.reload_if_changed().unwrap_err();
    let (says, _) = refused(shake_hands(&connector, &server).await).await;
    assert!(says.contains("revoked"), "what was read before stays: {says}");
    files.write("crl.pem", &list(&[]));
    assert!(server.reload_if_changed().unwrap());
    connected(&connector, &server).await.exchange().await;
}

#[tokio::test]
async fn clients_go_by_the_authority_that_its_file_holds_now() {
    let files = Files::new();
    let first = files.issue("first", &Request::names(&[]));
    let successor = Authority::new("Successor");
    let second = successor.issue(&Request::names(&[])).write_to(files.directory.path(), "second");
    let second = Certificate { certificate: second.certificate, key: second.key };
    let mut plan = asks(&files, true, None);
    plan.client_auth.as_mut().unwrap().ca = files.write("clients.pem", &files.authority.pem());
    let server = ServerTls::load(&plan, HTTP).unwrap();
    let (first, second) = (shows(&files, &first), shows(&files, &second));
    connected(&first, &server).await.exchange().await;
    refused(shake_hands(&second, &server).await).await;

    files.write("clients.pem", &successor.pem());
    assert!(server.reload_if_changed().unwrap());
    connected(&second, &server).await.exchange().await;
    let (says, _) = refused(shake_hands(&first, &server).await).await;
    assert!(says.contains("no authority"), "{says}");
}

#[test]
fn files_that_hold_something_else_are_named() {
    let files = Files::new();
    let mut plan = asks(&files, true, None);
    let rules = plan.client_auth.as_mut().unwrap();
    rules.crl = Some(files.ca());
    let error = ServerTls::load(&plan, HTTP).unwrap_err().to_string();
    assert_eq!(error, format!("revocation lists {}: no revocation list in file", files.ca().display()));
    let rules = plan.client_auth.as_mut().unwrap();
    rules.ca = plan.certificates[0].key.clone();
    let error = ServerTls::load(&plan, HTTP).unwrap_err().to_string();
    assert_eq!(error, format!("authorities {}: no certificate in file", plan.certificates[0].key.display()));
}
