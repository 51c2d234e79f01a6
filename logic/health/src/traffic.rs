/// What became of one request, as far as it tells something about the server.
///
/// What counts as a failure is what a healthy server behind a healthy network does not do: it cannot be reached, does
/// not answer, or says itself that it cannot serve (502, 503, 504). Not counted: 500 and 501, which come from single
/// requests more often than from a sick server, every other status, and whatever the client did, such as going away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrafficOutcome {
    /// A well-formed answer that is not counted against the server.
    Success,
    /// No connection: refused, unreachable, timed out, or TLS did not come about.
    ConnectError,
    /// Connected, but no answer in time.
    Timeout,
    /// The connection broke off before the answer was complete.
    Reset,
    /// An answer that is not valid HTTP.
    BadResponse,
    /// 502, 503 or 504.
    Status5xx,
}

/// What one server's traffic has been, in totals that only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrafficSample {
    /// Requests that have an outcome.
    pub requests_total: u64,
    /// Those of them that failed.
    pub failures_total: u64,
    /// Failures since the last success.
    pub consecutive_failures: u32,
    /// Successes since the server became half open.
    pub probes_passed: u32,
    /// Failures of requests that it was given since then: what was sent before says nothing about it now.
    pub probes_failed: u32,
}

impl TrafficOutcome {
    /// The outcome of a complete, well-formed answer.
    pub fn of_status(status: u16) -> Self {
        match status {
            502..=504 => Self::Status5xx,
            _ => Self::Success,
        }
    }

    /// Whether it counts as a failure of the server.
    pub fn is_failure(self) -> bool {
        self != Self::Success
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_gateway_would_say_counts_against_a_server() {
        let failures: Vec<u16> = (100..600).filter(|s| TrafficOutcome::of_status(*s).is_failure()).collect();
        assert_eq!(failures, [502, 503, 504]);
    }
}
