//! Results of requests, as far as they show the health of a server.

/// The result of one request, as far as it shows the health of the server.
///
/// Failures are results that a healthy server behind a healthy network does not cause: it is unreachable,
/// does not answer, or reports itself that it cannot serve (502, 503, 504). The statuses 500 and 501 do not
/// count, because single requests cause them more often than a broken server. Other statuses and actions of
/// the client, such as a disconnect, do not count either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrafficOutcome {
    /// A valid response that does not count as a failure.
    Success,
    /// No connection: refused, unreachable, timed out, or the TLS handshake failed.
    ConnectError,
    /// Connected, but no response in time.
    Timeout,
    /// The connection closed before the response was complete.
    Reset,
    /// The response is not valid HTTP.
    BadResponse,
    /// The status is 502, 503 or 504.
    Status5xx,
}

/// Totals of one server's traffic, which never decrease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrafficSample {
    /// Requests with a result.
    pub requests_total: u64,
    /// Failed requests.
    pub failures_total: u64,
    /// Failures since the last success.
    pub consecutive_failures: u32,
    /// Successes since the server became half open.
    pub probes_passed: u32,
    /// Failures of requests that were sent since the server became half open. Earlier requests say nothing
    /// about its present health.
    pub probes_failed: u32,
}

impl TrafficOutcome {
    /// Returns the result of a complete, valid response.
    pub fn of_status(status: u16) -> Self {
        match status {
            502..=504 => Self::Status5xx,
            _ => Self::Success,
        }
    }

    /// Returns true if the result counts as a failure of the server.
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
