//! Fetches the documents of token issuers over HTTPS: one GET, no redirects, limited in time and size.

use std::time::Duration;

use tokio::time::timeout;
use weir_dav::header::{RemoteUrl, Scheme};
use weir_dav::path::PathLimits;
use weir_net::tls::ClientTls;

use crate::client::{Dialer, Fault, Incoming, RequestHead};

/// Time limit for the whole fetch.
const PATIENCE: Duration = Duration::from_secs(10);

/// Fetches the document at an HTTPS URL, of at most `bytes_max` bytes.
///
/// # Errors
/// If the document cannot be fetched. The message begins with the URL.
pub(super) async fn get(url: &str, tls: &ClientTls, bytes_max: usize) -> Result<Vec<u8>, String> {
    let fetched = timeout(PATIENCE, fetch(url, tls, bytes_max)).await;
    let fetched = fetched.unwrap_or_else(|_| Err(Fault::passing("no answer in time")));
    fetched.map_err(|fault| format!("{url}: {fault}"))
}

async fn fetch(url: &str, tls: &ClientTls, bytes_max: usize) -> Result<Vec<u8>, Fault> {
    let url = RemoteUrl::parse(url.as_bytes(), &PathLimits::default()).map_err(Fault::lasting)?;
    if url.scheme != Scheme::Https {
        return Err(Fault::lasting("not an https URL"));
    }
    // No address rules apply, because the operator configured the issuer.
    let dialer = Dialer { tls, rules: None, connect_timeout: PATIENCE, idle_timeout: PATIENCE, rate_min: 0 };
    let mut connection = dialer.connect(&url).await?;
    let head = RequestHead {
        method: "GET",
        target: &url.target,
        authority: &url.authority(),
        lines: &[("Accept".to_owned(), b"application/json".to_vec())],
    };
    connection.send(&head.write()).await?;
    connection.flush().await?;
    let head = connection.response(false, PATIENCE).await?;
    if head.status != 200 {
        return Err(Fault::lasting(format!("status {}", head.status)));
    }
    Incoming::new(connection, &head)?.read_all(bytes_max).await
}
