use std::fmt::Write as _;
use std::net::SocketAddr;

/// How far a transfer is: what its client is told from time to time (HTTP-TPC's performance marker).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker<'a> {
    /// Seconds since 1970.
    pub unix_s: u64,
    /// Bytes of the file that have been transferred, by all connections together.
    pub bytes: u64,
    /// The other ends of the connections.
    pub connections: &'a [SocketAddr],
}

impl Marker<'_> {
    /// As it is sent. All connections of a transfer are one stripe.
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

/// The last line of a transfer that worked.
pub const fn success_line() -> &'static str {
    "success: Created\n"
}

/// The last line of one that did not.
pub fn failure_line(cause: &str) -> String {
    // What other servers say must not look like further lines.
    let cause: String = cause.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect();
    format!("failure: {cause}\n")
}
