//! Progress reports of third-party copies.

use std::fmt::Write as _;
use std::net::SocketAddr;

/// A progress report of a transfer, for the client (the performance marker of HTTP-TPC).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker<'a> {
    /// Time of the report, in seconds since 1970.
    pub unix_s: u64,
    /// Bytes of the file that all connections together have transferred.
    pub bytes: u64,
    /// Remote addresses of the connections.
    pub connections: &'a [SocketAddr],
}

impl Marker<'_> {
    /// Formats the report for the response body. All connections of a transfer form one stripe.
    pub fn text(&self) -> String {
        let mut text = format!(
            "Perf Marker\nTimestamp: {}\nStripe Index: 0\nStripe Bytes Transferred: {}\nTotal Stripe Count: 1\n",
            self.unix_s, self.bytes
        );
        for (at, connection) in self.connections.iter().enumerate() {
            text.push_str(if at == 0 { "RemoteConnections: " } else { "," });
            // Writing to a String cannot fail.
            let _ = write!(text, "tcp:{connection}");
        }
        if !self.connections.is_empty() {
            text.push('\n');
        }
        text.push_str("End\n");
        text
    }
}

/// Returns the last line of a successful transfer.
pub const fn success_line() -> &'static str {
    "success: Created\n"
}

/// Returns the last line of a failed transfer.
pub fn failure_line(cause: &str) -> String {
    // Removes control characters, so that text from another server cannot look like more lines.
    let cause: String = cause.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect();
    format!("failure: {cause}\n")
}
