//! Tests of servers with several flavours.

use std::time::Duration;

use weir_model::{Name, ServerName};
use weir_scale::{Capacity, Observation};

use super::Play;
use crate::tools::run_virtually;

/// Creates a fleet that creates small servers and may have large ones.
fn play(large: Capacity) -> Play {
    Play::with(|rules| rules.capacity.others = vec![(Name::new("large").unwrap(), large)])
}

impl Play {
    /// Makes the first servers large. Returns their names.
    fn are_large(&self, servers: usize) -> Vec<String> {
        let mut world = self.world.0.borrow_mut();
        let names: Vec<String> = world.machines.keys().take(servers).cloned().collect();
        world.flavours = names.iter().map(|name| (name.clone(), "large")).collect();
        names
    }
}

#[test]
fn a_server_counts_for_what_its_flavour_can_do() {
    run_virtually(async {
        let mut play = play(Capacity::Given(40.0));
        let round = play.seconds(60, 35).await;
        let (all, _, _) = play.counts();
        assert!(all >= 4, "{all}");
        assert_eq!(round.decision.unwrap().fleet.healthy, all as f64);
        play.are_large(2);
        let round = play.seconds(1, 35).await;
        assert_eq!(round.decision.unwrap().fleet.healthy, (all - 2) as f64 + 8.0);
        // The fleet now has more servers than it needs.
        let round = play.seconds(300, 35).await;
        let healthy = round.decision.unwrap().fleet.healthy;
        assert!(play.counts().0 < all && healthy >= 3.5, "{:?} {healthy}", play.counts());
    });
}

#[test]
fn a_server_that_a_list_leaves_out_still_counts_for_what_its_flavour_can_do() {
    run_virtually(async {
        let mut play = play(Capacity::Given(40.0));
        play.seconds(60, 35).await;
        let large = play.are_large(2);
        // The fleet now has more servers than it needs, but must not remove any.
        play.live.set_acting(false);
        let before = play.seconds(1, 35).await.decision.unwrap().fleet.healthy;
        assert!(before >= 10.0, "{before}");
        play.world.0.borrow_mut().hidden = large.into_iter().collect();
        let after = play.seconds(1, 35).await.decision.unwrap().fleet.healthy;
        assert_eq!(after, before);
    });
}

#[test]
fn what_servers_can_do_is_learned_for_each_flavour_by_itself() {
    run_virtually(async {
        let learned = Capacity::Learned { initial: 40.0, least: 1.0, most: 1_000.0, slower: 2.0 };
        let mut play = play(learned);
        play.seconds(60, 35).await;
        let large = play.are_large(1).remove(0);
        let small = play.world.0.borrow().machines.keys().nth(1).cloned().unwrap();
        // Both servers slow down at 20 requests per second, but only the capacity of the large one is
        // learned.
        for (rate_per_s, ms) in [(5.0, 1), (20.0, 10), (30.0, 20)] {
            let observation = Observation { rate_per_s, latency: Duration::from_millis(ms) };
            for name in [&large, &small] {
                let server = ServerName::new(name).unwrap();
                let seen = std::iter::repeat_n((server, observation), 20);
                play.world.0.borrow_mut().observed.extend(seen);
            }
        }
        play.seconds(1, 35).await;
        let known = play.live.scaler().capacities();
        assert_eq!((known[0].0.as_ref(), known[0].1.as_str()), (None, "10/s: as given"));
        assert_eq!(known[1].0.as_ref().map(Name::as_str), Some("large"));
        assert!(known[1].1.contains("requests at a time on latency is above 2.0 times 1.0 ms"), "{known:?}");
    });
}
