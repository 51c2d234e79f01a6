//! The configs and requests that most tests use.

use std::fmt::Display;

/// Returns a config with a listener `web` on a free port and a pool `web` with these servers. A test can
/// append keys of the pool.
pub fn web(servers: &[impl Display]) -> String {
    let servers: Vec<String> = servers.iter().map(|server| format!("\"{server}\"")).collect();
    format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = [{}]\n",
        servers.join(", ")
    )
}

/// Returns a GET request without further headers.
pub fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n\r\n")
}
