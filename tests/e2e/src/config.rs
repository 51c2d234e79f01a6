//! The configs and requests that most tests start from.

use std::fmt::Display;

/// A listener `web` on a free port, in front of a pool `web` with these servers. Keys of the pool can be appended.
pub fn web(servers: &[impl Display]) -> String {
    let servers: Vec<String> = servers.iter().map(|server| format!("\"{server}\"")).collect();
    format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = [{}]\n",
        servers.join(", ")
    )
}

/// A GET request without further headers.
pub fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n\r\n")
}
