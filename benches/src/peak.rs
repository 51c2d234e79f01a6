//! Peak of an open loop: the highest rate at which responses keep pace with the clock.
//!
//! It is lower than the peak of a closed loop, whose clients send a request when they have a response and
//! therefore always find a running process. Half of a closed loop's peak may already be the limit of the
//! generator and the origin on their core; the latency would then be theirs.

use std::time::Duration;

use crate::error::Result;
use crate::openloop::{self, Arrivals, Load};
use crate::priority::First;
use crate::rivals::Balancer;

/// Most halvings of the closed loop's peak before the search begins.
const HALVINGS: u32 = 5;

/// Bisection steps between a rate that is carried and one that is not.
const STEPS: u32 = 5;

/// Longest time of the last responses after the last due time; more means that a backlog has built up.
const PILED_UP: Duration = Duration::from_millis(20);

/// Returns the requests a second that a balancer carries with `connections`; at most `closed_per_s`, its peak
/// in a closed loop.
///
/// # Errors
/// If a connection fails, or a response is not a 200.
pub(crate) fn open_loop(balancer: &Balancer, connections: usize, closed_per_s: f64) -> Result<f64> {
    let _first = First::on_this_core()?;
    search(closed_per_s, |rate_per_s| {
        let load = Load {
            address: balancer.address,
            path: "/1k",
            rate_per_s,
            arrivals: Arrivals::Even,
            duration: Duration::from_secs(1),
            connections,
        };
        // Tries three times, because a stall of the machine must not make a rate look too high.
        for _ in 0..3 {
            let outcome = openloop::run(&load)?;
            if outcome.is_answered() && outcome.kept_pace(PILED_UP) {
                return Ok(true);
            }
        }
        Ok(false)
    })
}

/// Returns the highest rate up to `most` that is carried, within a few percent, or the lowest tried rate if
/// none is.
fn search(most: f64, mut carries: impl FnMut(f64) -> Result<bool>) -> Result<f64> {
    if carries(most)? {
        return Ok(most);
    }
    let (mut carried, mut too_much) = (most / 2.0, most);
    for _ in 1..HALVINGS {
        if carries(carried)? {
            break;
        }
        (carried, too_much) = (carried / 2.0, carried);
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(carried, too_much);
        if carries(middle)? {
            carried = middle;
        } else {
            too_much = middle;
        }
    }
    Ok(carried)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(most: f64, limit: f64) -> f64 {
        search(most, |rate| Ok(rate <= limit)).unwrap()
    }

    #[test]
    fn the_peak_is_found_to_a_few_percent_and_never_above_what_is_carried() {
        for limit in [3_000.0, 9_999.0, 17_000.0, 31_000.0] {
            let found = found(32_000.0, limit);
            assert!(found <= limit && found > limit * 0.96, "{found} for {limit}");
        }
    }

    #[test]
    fn nothing_above_the_closed_loops_peak_is_tried() {
        assert_eq!(found(32_000.0, f64::INFINITY), 32_000.0);
    }

    #[test]
    fn where_nothing_is_carried_the_search_ends_all_the_same() {
        assert!(found(32_000.0, 0.0) <= 2_000.0);
    }
}
