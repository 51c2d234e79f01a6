use std::net::IpAddr;

use crate::budget::{Budgets, network};

/// Requests are counted over this time, in milliseconds.
const WINDOW_MS: u64 = 60_000;

/// A credential that does not hold counts as much as so many requests that worked.
const FAILURE_COST: u64 = 10;

/// How often one client may ask for tokens: so many times a minute, at once or spread, and less often with credentials that do
/// not hold. A client is an address, of IPv6 a network of 64 bits.
///
/// Times are milliseconds of any clock that never goes back.
#[derive(Debug)]
pub struct ClientLimit {
    requests: Budgets<IpAddr>,
}

impl ClientLimit {
    /// `per_minute` requests of each client; 0 = as many as they like.
    pub fn new(per_minute: u32) -> Self {
        Self { requests: Budgets::new(per_minute, WINDOW_MS) }
    }

    /// A request comes.
    ///
    /// # Errors
    /// It is one too many: in how many seconds the client may ask again.
    pub fn ask(&mut self, client: IpAddr, now_ms: u64) -> Result<(), u64> {
        self.requests.take(network(client), now_ms)
    }

    /// What came with it did not hold.
    pub fn failed(&mut self, client: IpAddr, now_ms: u64) {
        self.requests.charge(network(client), FAILURE_COST - 1, now_ms);
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
        // After a quiet minute all of them again, and no more than that.
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
        // From the same network of IPv6, too.
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

    /// Whoever has many addresses must not keep the others from asking.
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
