//! Tests of session resumption.

use std::time::{Duration, Instant, SystemTime};

use weir_config::plan::TlsIn;
use weir_model::Millis;
use weir_net::tls::{ServerTls, TlsConnector};
use weir_testkit::certificates::Request;

use super::support::{Files, HTTP, connected};

/// Interval at which `Files::tls_in` renews the key.
const HOUR: Duration = Duration::from_secs(3600);
const TLS12: &str = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
const TLS13: &str = "TLS_AES_128_GCM_SHA256";

async fn resumes(connector: &TlsConnector, server: &ServerTls) -> bool {
    let mut pair = connected(connector, server).await;
    pair.exchange().await;
    assert_eq!(pair.client.is_resumed(), pair.server.is_resumed());
    assert_eq!(pair.server.server_name(), Some("localhost"));
    pair.server.is_resumed()
}

fn plan(files: &Files, cipher: &str) -> TlsIn {
    TlsIn { ciphers: vec![cipher.to_owned()], ..files.tls_in() }
}

#[tokio::test]
async fn a_client_that_comes_back_resumes() {
    let files = Files::new();
    for cipher in [TLS12, TLS13] {
        let server = ServerTls::load(&plan(&files, cipher), HTTP).unwrap();
        let connector = files.connector();
        assert!(!resumes(&connector, &server).await);
        assert!(resumes(&connector, &server).await);
        assert!(resumes(&connector, &server).await, "each resumption brings a fresh ticket");
    }
}

#[tokio::test]
async fn without_tickets_nobody_resumes() {
    let files = Files::new();
    for cipher in [TLS12, TLS13] {
        let plan = TlsIn { ticket_rotation: None, ..plan(&files, cipher) };
        let server = ServerTls::load(&plan, HTTP).unwrap();
        let connector = files.connector();
        assert!(!resumes(&connector, &server).await);
        assert!(!resumes(&connector, &server).await);
    }
}

#[tokio::test]
async fn sessions_outlive_one_rotation_of_the_ticket_key_and_not_two() {
    let files = Files::new();
    for cipher in [TLS12, TLS13] {
        let server = ServerTls::load(&plan(&files, cipher), HTTP).unwrap();
        let (once, twice) = (files.connector(), files.connector());
        assert!(!resumes(&once, &server).await);
        assert!(!resumes(&twice, &server).await);
        server.rotate_tickets_if_due(Instant::now() + HOUR);
        assert!(resumes(&once, &server).await);
        server.rotate_tickets_if_due(Instant::now() + 2 * HOUR);
        assert!(!resumes(&twice, &server).await);
    }
}

#[tokio::test]
async fn sessions_outlive_a_reload_of_the_config_that_leaves_their_rules_alone() {
    let files = Files::new();
    let mut plan = files.tls_in();
    let server = ServerTls::load(&plan, HTTP).unwrap();
    let connector = files.connector();
    assert!(!resumes(&connector, &server).await);
    plan.certificates.push(files.issue("more", &Request::names(&["more.test"])));
    let server = server.replace(&plan, HTTP).unwrap();
    assert!(resumes(&connector, &server).await);
    plan.ticket_rotation = Some(Millis::from_secs(60));
    let server = server.replace(&plan, HTTP).unwrap();
    assert!(!resumes(&connector, &server).await, "another interval, other keys");
}

#[tokio::test]
async fn a_session_is_worth_nothing_once_other_clients_are_admitted() {
    let files = Files::new();
    let mut plan = files.tls_in();
    plan.client_auth = Some(files.client_auth(false));
    let server = ServerTls::load(&plan, HTTP).unwrap();
    let connector = files.connector();
    assert!(!resumes(&connector, &server).await);
    assert!(resumes(&connector, &server).await);
    let crl = files.authority.revoke(&[], SystemTime::now() + 24 * HOUR);
    plan.client_auth.as_mut().unwrap().crl = Some(files.write("crl.pem", &crl));
    let server = server.replace(&plan, HTTP).unwrap();
    assert!(!resumes(&connector, &server).await);
}
