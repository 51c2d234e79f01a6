//! The rate limit of the token endpoint, per client.

use std::net::IpAddr;

use weir_model::client_network;

use crate::budget::Budgets;

/// Time in which the full number of requests is available again, in milliseconds.
const WINDOW_MS: u64 = 60_000;

/// Number of requests that an invalid credential counts as.
const FAILURE_COST: u64 = 10;

/// Limits how often one client may request tokens: a number of requests a minute, at once or spread. A
/// request with an invalid credential counts several times. A client is an IPv4 address or an IPv6 /64
/// network.
///
/// Times are milliseconds of any clock that never goes back.
#[derive(Debug)]
pub struct ClientLimit {
    requests: Budgets<IpAddr>,
}

impl ClientLimit {
    /// Creates a limit of `per_minute` requests for each client; 0 = no limit.
    pub fn new(per_minute: u32) -> Self {
        Self { requests: Budgets::new(per_minute, WINDOW_MS) }
    }

    /// Counts a request.
    ///
    /// # Errors
    /// If the limit is reached. The error is the number of seconds until the client may try again.
    pub fn ask(&mut self, client: IpAddr, now_ms: u64) -> Result<(), u64> {
        self.requests.take(client_network(client), now_ms)
    }

    /// Counts the additional cost of a request with an invalid credential.
    pub fn failed(&mut self, client: IpAddr, now_ms: u64) {
        self.requests.charge(client_network(client), FAILURE_COST - 1, now_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::KEYS_MAX;

    fn client(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn so_many_at_once_and_then_as_they_come_back() {
        let (mut limit, one) = (ClientLimit::new(60), client("192.0.2.1"));
        for _ in 0..60 {
            assert_eq!(limit.ask(one, 1_000), Ok(()));
        }
        assert_eq!(limit.ask(one, 1_000), Err(1));
        assert_eq!(limit.ask(client("192.0.2.2"), 1_000), Ok(()), "another client");
        assert_eq!(limit.ask(one, 2_000), Ok(()));
        assert_eq!(limit.ask(one, 2_000), Err(1));
        // After a quiet minute, the full number is available again, and no more.
        assert!((0..60).all(|_| limit.ask(one, 1_000_000).is_ok()));
        assert_eq!(limit.ask(one, 1_000_000), Err(1));
    }

    #[test]
    fn wrong_credentials_count_for_more() {
        let (mut limit, one) = (ClientLimit::new(60), client("2001:db8::1"));
        for _ in 0..6 {
            assert_eq!(limit.ask(one, 0), Ok(()));
            limit.failed(one, 0);
        }
        // Another address in the same IPv6 /64 network counts as the same client.
        assert_eq!(limit.ask(client("2001:db8::ffff:2"), 0), Err(1));
        assert_eq!(limit.ask(client("2001:db8:0:1::1"), 0), Ok(()));
        limit.failed(one, 0);
        assert_eq!(limit.ask(one, 0), Err(10));
    }

    #[test]
    fn the_table_is_bounded_and_clients_that_were_quiet_make_room() {
        let mut limit = ClientLimit::new(1);
        for number in 0..20_000_u32 {
            let _ = limit.ask(IpAddr::V4(number.into()), 0);
        }
        assert_eq!(limit.requests.len(), KEYS_MAX);
        assert_eq!(limit.ask(client("198.51.100.1"), 0), Err(60), "it counts with the others");
        assert_eq!(limit.ask(client("198.51.100.1"), WINDOW_MS), Ok(()));
        assert_eq!(limit.requests.len(), 1);
    }

    /// A client with many addresses must not lock out other clients.
    #[test]
    fn clients_that_ask_once_make_room_for_others_though_they_are_busy() {
        let mut limit = ClientLimit::new(2);
        let heavy = client("192.0.2.1");
        assert_eq!((limit.ask(heavy, 0), limit.ask(heavy, 0)), (Ok(()), Ok(())));
        for number in 0..20_000_u32 {
            let _ = limit.ask(IpAddr::V4(number.into()), 500);
        }
        assert_eq!(limit.ask(client("198.51.100.1"), 500), Err(30), "it counts with the others");
        assert_eq!(limit.ask(client("198.51.100.1"), 1_500), Ok(()));
        assert_eq!(limit.ask(heavy, 1_500), Err(29), "it is not forgotten");
    }

    #[test]
    fn without_a_limit_nothing_is_kept() {
        let (mut limit, one) = (ClientLimit::new(0), client("192.0.2.1"));
        assert!((0..10_000).all(|_| limit.ask(one, 0).is_ok()));
        limit.failed(one, 0);
        assert!(limit.requests.len() == 0);
    }
}
