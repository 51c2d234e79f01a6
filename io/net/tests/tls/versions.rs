//! Tests of TLS versions.

use std::sync::Arc;

use weir_config::plan::{TlsOut, TlsVersion};
use weir_net::tls::{ClientTls, ServerTls, TlsFailure};

use super::support::{Files, HTTP, connected, shake_hands};

fn only(files: &Files, version: TlsVersion) -> (Arc<ServerTls>, ClientTls) {
    // The config sets the minimum version only; the choice of ciphers limits the connection to TLS 1.2.
    let mut plan = files.tls_in();
    if version == TlsVersion::V1_2 {
        plan.ciphers = vec!["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256".to_owned()];
    }
    (ServerTls::load(&plan, HTTP).unwrap(), ClientTls::load(&files.tls_out()).unwrap())
}

#[tokio::test]
async fn the_newest_common_version_is_spoken() {
    let files = Files::new();
    for version in [TlsVersion::V1_2, TlsVersion::V1_3] {
        let (server, client) = only(&files, version);
        let mut pair = connected(&client.connector("localhost").unwrap(), &server).await;
        assert_eq!((pair.client.version(), pair.server.version()), (Some(version), Some(version)));
        pair.exchange().await;
    }
}

#[tokio::test]
async fn a_version_older_than_the_oldest_permitted_is_refused() {
    let files = Files::new();
    let (server, _) = only(&files, TlsVersion::V1_2);
    let plan = TlsOut { version_min: TlsVersion::V1_3, ..files.tls_out() };
    let connector = ClientTls::load(&plan).unwrap().connector("localhost").unwrap();
    let pair = shake_hands(&connector, &server).await;
    assert!(matches!(TlsFailure::of(&pair.at_server.unwrap_err()), Some(TlsFailure::Protocol(_))));
    let told = pair.at_client.unwrap_err().to_string();
    assert!(told.contains("protocol_version") || told.contains("handshake_failure"), "{told}");
}
