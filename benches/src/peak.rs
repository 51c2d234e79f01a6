//! The peak of an open loop: the highest rate at which answers keep pace with the clock.
//!
//! It is below what a closed loop carries, whose clients ask when they are answered and so always meet whoever is awake. Half of
//! a closed loop's peak may be all that the generator and the origin on their core can take, and then a latency is theirs.

use std::time::Duration;

use crate::error::Result;
use crate::openloop::{self, Arrivals, Load};
use crate::priority::First;
use crate::rivals::Balancer;

/// The closed loop's peak is halved no further than this many times before the search begins.
const HALVINGS: u32 = 5;

/// Then the distance between a rate that is carried and one that is not is halved so many times.
const STEPS: u32 = 5;

/// Answers to the last requests may take so long after the last was due; what takes longer has piled up.
const PILED_UP: Duration = Duration::from_millis(20);

/// What a balancer carries with `connections`, per second; at most `closed_per_s`, its peak in a closed loop.
///
/// # Errors
/// A connection fails, or an answer is no 200.
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
        // The machine may have stood still: that alone shall not make a rate too high.
        for _ in 0..3 {
            let outcome = openloop::run(&load)?;
            if outcome.is_answered() && outcome.kept_pace(PILED_UP) {
                return Ok(true);
            }
        }
        Ok(false)
    })
}

/// The highest rate up to `most` that is carried, to a few percent; the lowest that is tried if none is.
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
