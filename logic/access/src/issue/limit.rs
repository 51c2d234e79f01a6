use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

/// Requests are counted over this time, in milliseconds.
const WINDOW_MS: u64 = 60_000;

/// A credential that does not hold counts as much as so many requests that worked.
const FAILURE_COST: u64 = 10;

/// So many clients are told apart. Those that have been quiet for a while make room; the others beyond it count as one.
const CLIENTS_MAX: usize = 10_000;

/// Clients that have been quiet are looked for so seldom, in milliseconds.
const SWEEP_MS: u64 = 1_000;

/// How often one client may ask for tokens: so many times a minute, at once or spread, and less often with credentials that do
/// not hold. A client is an address, of IPv6 a network of 64 bits.
///
/// Times are milliseconds of any clock that never goes back.
#[derive(Debug)]
pub struct ClientLimit {
    /// What one request takes, in microseconds.
    cost_us: u64,
    /// Until when what a client has asked for is spread, in microseconds.
    busy_until_us: HashMap<IpAddr, u64>,
    /// The same for those that there was no room for.
    others_until_us: u64,
    swept_ms: u64,
}

impl ClientLimit {
    /// `per_minute` requests of each client; 0 = as many as they like.
    pub fn new(per_minute: u32) -> Self {
        Self {
            cost_us: (WINDOW_MS * 1_000).checked_div(per_minute.into()).unwrap_or(0),
            busy_until_us: HashMap::new(),
            others_until_us: 0,
            swept_ms: 0,
        }
    }

    /// A request comes.
    ///
    /// # Errors
    /// It is one too many: in how many seconds the client may ask again.
    pub fn ask(&mut self, client: IpAddr, now_ms: u64) -> Result<(), u64> {
        if self.cost_us == 0 {
            return Ok(());
        }
        let (cost_us, now_us) = (self.cost_us, now_ms.saturating_mul(1_000));
        let end_us = now_us.saturating_add(WINDOW_MS * 1_000);
        let until_us = self.of(client, now_ms);
        let next_us = (*until_us).max(now_us).saturating_add(cost_us);
        if next_us > end_us {
            return Err((next_us - end_us).div_ceil(1_000_000));
        }
        *until_us = next_us;
        Ok(())
    }

    /// What came with it did not hold.
    pub fn failed(&mut self, client: IpAddr, now_ms: u64) {
        if self.cost_us == 0 {
            return;
        }
        let (more_us, now_us) = (self.cost_us * (FAILURE_COST - 1), now_ms.saturating_mul(1_000));
        let until_us = self.of(client, now_ms);
        // Requests that were let in together may take it beyond the window.
        *until_us = (*until_us).max(now_us).saturating_add(more_us);
    }

    fn of(&mut self, client: IpAddr, now_ms: u64) -> &mut u64 {
        let client = network(client);
        let now_us = now_ms.saturating_mul(1_000);
        let is_full = self.busy_until_us.len() >= CLIENTS_MAX && !self.busy_until_us.contains_key(&client);
        if is_full && now_ms.saturating_sub(self.swept_ms) >= SWEEP_MS {
            self.swept_ms = now_ms;
            self.busy_until_us.retain(|_, until_us| *until_us > now_us);
        }
        match self.busy_until_us.len() >= CLIENTS_MAX && !self.busy_until_us.contains_key(&client) {
            true => &mut self.others_until_us,
            false => self.busy_until_us.entry(client).or_default(),
        }
    }
}

/// Whoever has one address of IPv6 has the others of its network, too.
fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(limit.busy_until_us.len(), CLIENTS_MAX);
        assert_eq!(limit.ask(client("198.51.100.1"), 0), Err(60), "it counts with the others");
        assert_eq!(limit.ask(client("198.51.100.1"), WINDOW_MS), Ok(()));
        assert_eq!(limit.busy_until_us.len(), 1);
    }

    #[test]
    fn without_a_limit_nothing_is_kept() {
        let (mut limit, one) = (ClientLimit::new(0), client("192.0.2.1"));
        assert!((0..10_000).all(|_| limit.ask(one, 0).is_ok()));
        limit.failed(one, 0);
        assert!(limit.busy_until_us.is_empty());
    }
}
