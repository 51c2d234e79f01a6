//! Tests of slow providers.

use std::time::Duration;

use tokio::time::Instant;
use weir_scale::Now;

use super::Play;
use crate::tools::run_virtually;

impl Play {
    /// Simulates seconds as [`Play::seconds`] does. Returns the longest duration of a look, and the number of
    /// looks with a decision.
    async fn looks(&mut self, seconds: u64, requests: u64) -> (Duration, usize) {
        let (mut longest, mut decided) = (Duration::ZERO, 0);
        for _ in 0..seconds {
            let begun = Instant::now();
            let round = self.seconds(1, requests).await;
            // Subtracts the second before the look.
            longest = longest.max(begun.elapsed().saturating_sub(Duration::from_secs(1)));
            decided += usize::from(round.decision.is_some());
        }
        (longest, decided)
    }
}

const HALF: Duration = Duration::from_millis(500);

#[test]
fn a_slow_list_delays_no_look_and_demand_is_followed_by_the_list_before() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(30, 5).await;
        play.log();
        play.world.0.borrow_mut().list_takes_s = 6;
        let (longest, decided) = play.looks(40, 45).await;
        assert!(longest <= HALF, "{longest:?}");
        assert_eq!(decided, 40);
        let created = play.log().iter().filter(|done| *done == "create").count();
        assert!((3..=5).contains(&created), "{created}");
        // The load balancer gets the servers once a list names them.
        play.seconds(20, 45).await;
        assert!(play.counts().2 >= 5, "{:?}", play.counts());
        // The surplus is drained and stopped in order.
        play.seconds(400, 5).await;
        assert_eq!(play.counts(), (2, 1, 2));
    });
}

#[test]
fn a_list_that_never_comes_is_told_and_after_a_while_nothing_is_decided_by_the_one_before() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(30, 5).await;
        play.world.0.borrow_mut().list_takes_s = 100_000;
        let (longest, decided) = play.looks(15, 5).await;
        assert!(longest <= HALF && decided == 15, "{longest:?} {decided}");
        play.log();
        let (longest, decided) = play.looks(30, 90).await;
        assert!(longest <= HALF && decided <= 1, "{longest:?} {decided}");
        assert_eq!(play.log(), Vec::<String>::new());
        let round = play.seconds(1, 90).await;
        assert!(round.silent.is_some(), "{round:?}");
        let why = |said: &String| said.contains("the provider has not told of its machines for");
        assert!(round.troubles.iter().any(why), "{:?}", round.troubles);
    });
}

#[test]
fn machines_that_are_made_slowly_are_ordered_once_and_delay_no_look() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(30, 5).await;
        play.log();
        play.world.0.borrow_mut().acts_take_s = 25;
        let (longest, decided) = play.looks(20, 45).await;
        assert!(longest <= HALF && decided == 20, "{longest:?} {decided}");
        let asked = play.log();
        assert!((2..=4).contains(&asked.len()), "{asked:?}");
        assert!(asked.iter().all(|asked| asked == "asked to create"), "{asked:?}");
        play.looks(60, 45).await;
        let running = play.counts().0;
        assert!((5..=6).contains(&running), "{:?}", play.counts());
    });
}

#[test]
fn what_a_machine_is_asked_slowly_is_asked_once_and_the_others_go_on() {
    run_virtually(async {
        let mut play = Play::with(|rules| rules.standby.keep = 10);
        play.seconds(120, 55).await;
        let all = play.counts().0;
        assert!(all >= 6, "{:?}", play.counts());
        play.log();
        play.world.0.borrow_mut().acts_take_s = 25;
        // Each machine is stopped by one call, and drains continue meanwhile.
        let (longest, _) = play.looks(90, 5).await;
        assert!(longest <= HALF, "{longest:?}");
        let log = play.log();
        let count = |what: &str| log.iter().filter(|done| *done == what).count();
        assert_eq!((count("drain"), count("asked to stop")), (all - 2, all - 2), "{log:?}");
        play.looks(60, 5).await;
        assert_eq!(play.counts(), (2, all - 2, 2));
        play.log();
        // The same applies to starts.
        let (longest, _) = play.looks(60, 55).await;
        assert!(longest <= HALF, "{longest:?}");
        let log = play.log();
        let asked = log.iter().filter(|done| *done == "asked to start").count();
        assert!((4..=all - 2).contains(&asked), "{log:?}");
        assert_eq!(log.iter().filter(|done| *done == "asked to create").count(), 0, "{log:?}");
    });
}

#[test]
fn standby_machines_that_are_made_slowly_are_not_ordered_at_every_look() {
    run_virtually(async {
        let mut play = Play::with(|rules| (rules.standby.keep, rules.standby.prepare) = (2, 2));
        play.world.0.borrow_mut().acts_take_s = 20;
        let (longest, _) = play.looks(150, 5).await;
        assert!(longest <= HALF, "{longest:?}");
        assert_eq!(play.counts(), (2, 2, 2));
        let asked = play.log().iter().filter(|done| *done == "asked to create").count();
        assert_eq!(asked, 4);
    });
}

#[test]
fn the_end_waits_for_what_was_ordered() {
    run_virtually(async {
        let mut play = Play::new();
        play.world.0.borrow_mut().acts_take_s = 20;
        play.seconds(2, 5).await;
        assert_eq!(play.counts().0, 0);
        play.live.finish().await;
        assert_eq!(play.counts().0, 2);
        let round = play.live.round(Now::at(Duration::from_secs(30))).await;
        assert_eq!(round.done.created, 2);
    });
}
