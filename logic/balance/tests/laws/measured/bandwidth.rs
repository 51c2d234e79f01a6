//! Tests of least-bandwidth, against a log of all moved bytes.

use proptest::prelude::*;
use weir_balance::{Algorithm, MeasureOptions};

use super::{Request, Rig};

fn rig(weights: &[u32]) -> Rig {
    Rig::new(Algorithm::LeastBandwidth, MeasureOptions::default(), weights)
}

/// All movements of bytes: second, server, bytes.
type Log = Vec<(u64, usize, u64)>;

fn bytes(log: &Log, slot: usize, now_s: u64) -> u64 {
    log.iter().filter(|(s, one, _)| *one == slot && now_s - s < 14).map(|(_, _, bytes)| bytes).sum()
}

proptest! {
    #[test]
    fn the_chosen_server_has_moved_the_fewest_bytes_for_its_weight(
        weights in prop::collection::vec(1_u32..9, 1..20),
        steps in prop::collection::vec((0_u64..130, 0_u8..3, any::<prop::sample::Index>(), 1_u64..5_000), 1..100),
    ) {
        let mut rig = rig(&weights);
        let mut log = Log::new();
        let mut running: Vec<(Request, u64)> = Vec::new();
        for (pass, what, index, more) in steps {
            rig.pass_ms(pass);
            let now_s = rig.now_us / 1_000_000;
            match what {
                1 if !running.is_empty() => {
                    let index = index.index(running.len());
                    let (request, moved) = &mut running[index];
                    *moved += more;
                    log.push((now_s, request.slot, more));
                    rig.moved(request, *moved);
                }
                2 if !running.is_empty() => {
                    let index = index.index(running.len());
                    rig.end(running.swap_remove(index).0);
                }
                _ => {
                    let request = rig.begin();
                    let of = |slot: usize| bytes(&log, slot, now_s) as f64 / f64::from(weights[slot]);
                    let least = (0..weights.len()).map(of).fold(f64::MAX, f64::min);
                    prop_assert!((of(request.slot) - least).abs() <= least * 1e-6);
                    running.push((request, 0));
                }
            }
        }
    }
}

#[test]
fn what_was_moved_fourteen_seconds_ago_counts_no_longer() {
    let mut rig = rig(&[1; 4]);
    for (slot, amount) in [(0, 9_000_000), (1, 10), (2, 20), (3, 30)] {
        let mut request = rig.begin_at(slot);
        rig.moved(&mut request, amount);
        rig.end(request);
    }
    rig.pass_ms(13_999);
    assert_eq!(rig.pick(), 1);
    for slot in 1..4 {
        let mut request = rig.begin_at(slot);
        rig.moved(&mut request, 1_000);
        rig.end(request);
    }
    rig.pass_ms(1);
    // Nothing has happened at server 0. A pick notices that its bytes are old within one pick for each
    // server.
    let picked: Vec<usize> = (0..8).map(|_| rig.pick()).collect();
    assert_eq!(picked[4..], [0; 4], "{picked:?}");
}

#[test]
fn servers_that_have_moved_the_same_take_turns() {
    let mut rig = rig(&[1; 3]);
    let mut picked = Vec::new();
    for _ in 0..9 {
        let mut request = rig.begin();
        picked.push(request.slot);
        rig.moved(&mut request, 700);
        rig.end(request);
    }
    assert_eq!(picked, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}
