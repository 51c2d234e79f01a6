//! Servers that are restarted, ill, or not let go.

use weir_fleet::MachineState;

use super::{CHECKS_S, Play};
use crate::tools::run_virtually;

#[test]
fn a_server_that_is_restarted_long_after_it_was_made_gets_its_whole_time_again() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(2_000, 5).await;
        play.log();
        let expected = play.live.scaler().expected(false);
        {
            let mut world = play.world.0.borrow_mut();
            let until = world.second + 25;
            let name = world.machines.keys().next().unwrap().clone();
            world.machines.insert(name.clone(), (MachineState::Running, until));
            world.members.get_mut(&name).unwrap().1 = until + CHECKS_S;
        }
        for _ in 0..40 {
            let round = play.seconds(1, 5).await;
            let replaced = round.done.replaced + round.done.deleted;
            assert_eq!(replaced, 0, "{:?}", round.decision);
        }
        assert_eq!((play.counts().2, play.log()), (2, Vec::new()));
        assert_eq!(play.live.scaler().expected(false), expected, "a restart is no start");
    });
}

#[test]
fn what_is_cut_off_when_an_ill_server_is_replaced_is_counted_and_told() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 5).await;
        let ill = play.world.0.borrow().members.keys().next().unwrap().clone();
        play.world.0.borrow_mut().members.get_mut(&ill).unwrap().1 = u64::MAX;
        play.world.0.borrow_mut().active = 3;
        for _ in 0..600 {
            let round = play.seconds(1, 5).await;
            if round.done.replaced > 0 {
                assert_eq!(round.done.cut, 3);
                let told = |said: &String| said.contains("3 requests are cut off");
                assert!(round.troubles.iter().any(told), "{:?}", round.troubles);
                assert!(round.decision.unwrap().actions[0].to_string().contains("cutting off 3 requests"));
                return;
            }
        }
        panic!("it was not replaced");
    });
}

#[test]
fn a_server_that_the_provider_does_not_let_go_gets_no_requests_until_it_is_called_back() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 35).await;
        let before = play.counts().2;
        play.world.0.borrow_mut().keeps = true;
        let mut waited = 0;
        while play.counts().2 == before {
            waited += 1;
            assert!(waited < 600, "nobody leaves");
            play.seconds(1, 5).await;
        }
        // Whoever has left stays out, whatever the provider says.
        let mut members = play.counts().2;
        for _ in 0..200 {
            play.seconds(1, 5).await;
            let now = play.counts().2;
            assert!(now <= members, "{now} after {members}");
            members = now;
        }
        assert_eq!((members, play.counts().0), (2, before));
        play.log();
        play.seconds(30, 35).await;
        assert_eq!((play.counts().2, play.log()), (before, Vec::new()), "they are there, and come back");
        // And it goes when the provider lets it.
        play.world.0.borrow_mut().keeps = false;
        play.seconds(300, 5).await;
        assert_eq!(play.counts(), (2, 1, 2));
    });
}
