//! Use of the connections to servers in a benchmark.

/// Use of the connections to servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Usage {
    /// A new connection for each request.
    OneARequest,
    /// Kept. At every moment, as many connections as there are clients have a request, even with few servers.
    Held,
    /// Kept, for a few clients: with few servers there are few connections; with many servers most are idle.
    KeptByFew,
}
