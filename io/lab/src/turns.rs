//! Bounds for the deviation of round robin from its weights. Round robin is not random, so no random error is
//! tolerated. A worker with its own counter gives each server its exact share in every round. A run may begin
//! and end within a round.

use serde::{Deserialize, Serialize};

/// Round robin over servers with weights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// Weights by server name; at least one is above 0.
    pub weights: Vec<(String, u32)>,
    /// Number of independent counters, such as workers that do not share their position. A balancer with
    /// independent workers deviates no more than this number of counters.
    pub counters: u32,
    /// Order of the turns of a server within a round.
    pub order: Order,
}

/// Order of the turns of a server within a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Turns are spread over the round, as in smooth weighted round robin (NGINX).
    Spread,
    /// Turns are spread by deadlines: each server is due a fixed time after its last turn (Envoy). Turns with
    /// the same deadline come in any order, so rounds overlap by one turn.
    ByDeadline,
    /// Turns of a server are consecutive. Weights with a common divisor make a long round (Caddy).
    InRuns,
}

impl Turns {
    /// Returns the share of each server, with a sum of 1.
    pub(crate) fn shares(&self) -> Vec<(String, f64)> {
        let sum = self.sum().max(1) as f64;
        self.weights.iter().map(|(name, weight)| (name.clone(), f64::from(*weight) / sum)).collect()
    }

    /// Returns the maximum deviation from its share, in requests, of the server at index `at`, for any number
    /// of requests.
    ///
    /// A round has one turn per unit of weight. An incomplete round has between none and all of the turns of
    /// a server with weight `w` of total `W`. Its deviation is at most `w (W - w) / W`. If turns are spread,
    /// the deviation is also below one per server (found by experiment; see the tests).
    pub(crate) fn off_by(&self, at: usize) -> f64 {
        let Some((_, weight)) = self.weights.get(at) else { return 0.0 };
        let divisor = if self.order == Order::InRuns { 1 } else { self.divisor() };
        let (weight, sum) = (f64::from(weight / divisor), (self.sum() / u64::from(divisor)).max(1) as f64);
        let within_a_round = weight * (sum - weight) / sum;
        let servers = self.weights.len() as f64;
        let each = match self.order {
            Order::Spread => within_a_round.min(servers),
            Order::ByDeadline => (within_a_round + 1.0).min(servers),
            Order::InRuns => within_a_round,
        };
        each * f64::from(self.counters)
    }

    fn sum(&self) -> u64 {
        self.weights.iter().map(|(_, weight)| u64::from(*weight)).sum()
    }

    fn divisor(&self) -> u32 {
        let common = |one: u32, other: u32| {
            let (mut one, mut other) = (one, other);
            while other > 0 {
                (one, other) = (other, one % other);
            }
            one
        };
        self.weights.iter().fold(0, |divisor, (_, weight)| common(divisor, *weight)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn turns(weights: &[u32], counters: u32, order: Order) -> Turns {
        let weights = weights.iter().enumerate().map(|(at, weight)| (format!("s{at}"), *weight)).collect();
        Turns { weights, counters, order }
    }

    /// Returns the sequence of ngx_http_upstream_round_robin.c.
    fn smooth(weights: &[u32], count: usize) -> Vec<usize> {
        let sum: i64 = weights.iter().copied().map(i64::from).sum();
        let mut credits = vec![0; weights.len()];
        let next = |_| {
            credits.iter_mut().zip(weights).for_each(|(credit, weight)| *credit += i64::from(*weight));
            let (at, _) = credits.iter().enumerate().rev().max_by_key(|(_, credit)| **credit).unwrap();
            credits[at] -= sum;
            at
        };
        (0..count).map(next).collect()
    }

    /// Returns the sequence in which each server is due again 1 / weight after its last turn, as in Envoy and
    /// Traefik.
    fn by_deadline(weights: &[u32], count: usize) -> Vec<usize> {
        let mut due: Vec<f64> = weights.iter().map(|weight| 1.0 / f64::from(*weight)).collect();
        let next = |_| {
            let (at, _) = due.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).unwrap();
            due[at] += 1.0 / f64::from(weights[at]);
            at
        };
        (0..count).map(next).collect()
    }

    /// Returns the sequence with all turns of a server in a row, as in Caddy.
    fn in_runs(weights: &[u32], count: usize) -> Vec<usize> {
        let round: Vec<usize> =
            weights.iter().enumerate().flat_map(|(at, weight)| vec![at; *weight as usize]).collect();
        round.iter().copied().cycle().take(count).collect()
    }

    type Sequence = fn(&[u32], usize) -> Vec<usize>;
    const ORDERS: [(Order, Sequence); 3] =
        [(Order::Spread, smooth), (Order::ByDeadline, by_deadline), (Order::InRuns, in_runs)];

    /// Returns the largest excess over the permitted deviation within a piece of a sequence.
    fn surplus(turns: &Turns, piece: &[usize]) -> f64 {
        let of = |(at, (_, share)): (usize, (String, f64))| {
            let got = piece.iter().filter(|own| **own == at).count() as f64;
            (got - share * piece.len() as f64).abs() - turns.off_by(at)
        };
        turns.shares().into_iter().enumerate().map(of).fold(f64::MIN, f64::max)
    }

    #[test]
    fn whoever_takes_turns_is_within_the_bounds_wherever_it_begins_and_ends() {
        let mut rng = Rng::new(7);
        let mut below = |most: u64| ((u128::from(rng.next()) * u128::from(most)) >> 64) as u64;
        for _ in 0..400 {
            let servers = 1 + below(8);
            let most = [3, 10, 256][below(3) as usize];
            let weights: Vec<u32> = (0..servers).map(|_| 1 + below(most) as u32).collect();
            let (from, count) = (below(500) as usize, 1 + below(500) as usize);
            for (order, sequence) in ORDERS {
                let all = sequence(&weights, from + count);
                let over = surplus(&turns(&weights, 1, order), &all[from..]);
                assert!(over < 1e-6, "{weights:?}, {from} and {count}, {order:?}: {over}");
            }
        }
    }

    #[test]
    fn several_who_count_for_themselves_are_off_by_as_many_times_as_much() {
        // Two counters that both stand before the turns of the heavy server.
        let piece = [in_runs(&[3, 1], 3), in_runs(&[3, 1], 3)].concat();
        assert!(surplus(&turns(&[3, 1], 1, Order::InRuns), &piece) > 0.0);
        assert!(surplus(&turns(&[3, 1], 2, Order::InRuns), &piece) <= 1e-9);
    }

    #[test]
    fn other_weights_are_out_of_bounds_after_a_few_rounds() {
        for (told, kept, count) in [
            (&[1, 1][..], &[3, 2][..], 40),
            (&[3, 2], &[1, 1], 20),
            (&[100, 33], &[1, 1], 40),
            (&[2, 1, 1], &[1, 1, 1], 30),
            (&[9, 1], &[4, 1], 40),
        ] {
            for workers in [1, 2] {
                let piece = smooth(kept, count * workers);
                let over = surplus(&turns(told, workers as u32, Order::Spread), &piece);
                assert!(over > 0.02 * piece.len() as f64, "{told:?}, {kept:?}, {workers}: {over}");
            }
        }
    }
}
