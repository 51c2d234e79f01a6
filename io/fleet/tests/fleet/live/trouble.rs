//! Tests of servers that restart, become unhealthy, or cannot be removed.

use weir_fleet::{FailureKind, MachineState};
use weir_scale::{Alarm, StartFailure};

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
        // A removed server stays out of the load balancer, even if the provider refuses to stop it.
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
        // The server is removed once the provider permits it.
        play.world.0.borrow_mut().keeps = false;
        play.seconds(300, 5).await;
        assert_eq!(play.counts(), (2, 1, 2));
    });
}

#[test]
fn a_machine_that_the_provider_does_not_let_go_is_asked_for_after_pauses_that_grow_and_told_meanwhile() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 35).await;
        play.world.0.borrow_mut().keeps = true;
        let mut waited = 0;
        while !play.log().contains(&"refused".to_owned()) {
            waited += 1;
            assert!(waited < 600, "nobody leaves");
            play.seconds(1, 5).await;
        }
        play.log();
        let mut told = 0;
        for _ in 0..100 {
            let round = play.seconds(1, 5).await;
            told += u32::from(round.troubles.iter().any(|why| why.contains("it is locked")));
        }
        let asked = play.log().iter().filter(|done| *done == "refused").count();
        // Each of two machines causes an attempt after at most 1, 2, 4, 8 and 16 seconds, and then every 30
        // seconds.
        assert!((3..=20).contains(&asked), "asked {asked} times in 100 seconds");
        assert_eq!(told, 100);
        play.world.0.borrow_mut().keeps = false;
        play.seconds(40, 5).await;
        assert_eq!(play.counts(), (2, 1, 2));
    });
}

#[test]
fn machines_that_fail_before_they_serve_are_made_again_after_pauses_that_grow() {
    run_virtually(async {
        let mut play = Play::new();
        play.world.0.borrow_mut().spoilt = true;
        let round = play.seconds(300, 5).await;
        let created = play.log().iter().filter(|done| *done == "create").count();
        // Two creations at the beginning, and more after 5, 10, 20, 40, 80 and 160 seconds.
        assert!((8..=14).contains(&created), "{created} in 300 seconds");
        let alarms = round.decision.unwrap().alarms;
        let withheld = |alarm: &Alarm| matches!(alarm, Alarm::Withheld { failures: 5.., .. });
        assert!(alarms.iter().any(withheld), "{alarms:?}");
        // After the repair, the pause ends, and the fleet works again.
        play.world.0.borrow_mut().spoilt = false;
        let round = play.seconds(400, 5).await;
        assert_eq!((play.counts(), round.decision.unwrap().alarms), ((2, 0, 2), Vec::new()));
        play.log();
        play.seconds(60, 55).await;
        assert!(play.log().len() >= 3, "nothing is held back any more");
    });
}

#[test]
fn why_a_machine_has_failed_is_told() {
    run_virtually(async {
        let mut play = Play::new();
        play.world.0.borrow_mut().spoilt = true;
        let mut troubles = Vec::new();
        for _ in 0..10 {
            troubles.extend(play.seconds(1, 5).await.troubles);
        }
        assert!(troubles.iter().any(|said| said.ends_with(" has failed: it is broken")), "{troubles:?}");
    });
}

#[test]
fn without_word_for_long_that_is_an_alarm() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 55).await;
        play.world.0.borrow_mut().balancer_fails = true;
        assert_eq!(play.seconds(10, 5).await.silent, None);
        let silent = play.seconds(10, 5).await.silent.unwrap();
        assert_eq!(silent.to_string(), "nothing is known for 20 s: the fleet stays as it is");
        play.world.0.borrow_mut().balancer_fails = false;
        let round = play.seconds(1, 5).await;
        assert_eq!((round.silent, round.decision.is_some()), (None, true));
    });
}

#[test]
fn a_time_that_nothing_was_known_of_is_no_reason_to_shrink() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 55).await;
        play.log();
        play.world.0.borrow_mut().balancer_fails = true;
        play.seconds(600, 5).await;
        play.world.0.borrow_mut().balancer_fails = false;
        // Ten minutes of low demand would otherwise justify more actions than this.
        let round = play.seconds(1, 55).await;
        assert_eq!((play.log(), round.decision.unwrap().wanted), (Vec::new(), 6));
    });
}

#[test]
fn a_server_that_is_drained_again_when_it_was_called_back_is_no_capacity() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 15).await;
        play.log();
        let name = play.world.0.borrow().members.keys().next().unwrap().clone();
        for _ in 0..60 {
            // The agent reports it as draining each second.
            play.world.0.borrow_mut().members.get_mut(&name).unwrap().0.draining = true;
            play.seconds(1, 15).await;
        }
        assert_eq!(play.log(), ["recall", "create"]);
        assert_eq!(play.counts().0, 3);
    });
}

#[test]
fn a_server_that_has_served_since_it_was_called_back_can_be_drained_and_called_back_again() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 15).await;
        play.log();
        let name = play.world.0.borrow().members.keys().next().unwrap().clone();
        for _ in 0..3 {
            play.world.0.borrow_mut().members.get_mut(&name).unwrap().0.draining = true;
            play.seconds(400, 15).await;
        }
        assert_eq!(play.log(), ["recall", "recall", "recall"]);
        assert_eq!(play.counts().0, 2);
    });
}

#[test]
fn a_server_that_is_drained_because_its_machine_is_missing_is_called_back_when_that_is_there_again() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 15).await;
        let name = play.world.0.borrow().members.keys().next().unwrap().clone();
        let drain = |play: &Play| play.world.0.borrow_mut().members.get_mut(&name).unwrap().0.draining = true;
        drain(&play);
        play.seconds(2, 15).await;
        play.world.0.borrow_mut().active = 1;
        // A replacement is created and the server is drained; then the demand rises.
        play.world.0.borrow_mut().hidden.insert(name.clone());
        play.seconds(40, 15).await;
        assert!(play.world.0.borrow().members[&name].0.draining);
        play.world.0.borrow_mut().hidden.clear();
        play.log();
        play.seconds(20, 55).await;
        assert!(play.log().contains(&"recall".to_owned()));
    });
}

#[test]
fn machines_that_never_become_healthy_do_not_pile_up() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(120, 35).await;
        assert_eq!(play.counts(), (4, 0, 4));
        play.world.0.borrow_mut().sick = true;
        play.log();
        let (mut most, mut causes) = (0, Vec::new());
        for _ in 0..1_500 {
            let round = play.seconds(1, 55).await;
            most = most.max(play.world.0.borrow().machines.len());
            causes.extend(round.decision.unwrap().alarms.into_iter().filter_map(|alarm| match alarm {
                Alarm::Withheld { cause, .. } => Some(cause),
                _ => None,
            }));
        }
        // Two servers are missing. Each has at most one late and one awaited successor.
        assert!((7..=8).contains(&most), "{most} machines");
        assert!(
            !causes.is_empty() && causes.iter().all(|cause| *cause == StartFailure::Checks),
            "{causes:?}"
        );
        let log = play.log();
        let count = |what: &str| log.iter().filter(|done| *done == what).count();
        assert!(count("delete") >= 4, "they are deleted: {log:?}");
        assert!(count("create") <= 24, "{} made in 25 minutes", count("create"));
        // After the image is repaired, the fleet has all servers again.
        play.world.0.borrow_mut().sick = false;
        let round = play.seconds(900, 55).await;
        assert_eq!((play.counts().0, round.decision.unwrap().alarms), (6, Vec::new()));
    });
}

#[test]
fn a_machine_that_stays_stopped_is_started_once_and_then_replaced() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(120, 35).await;
        play.seconds(600, 5).await;
        assert_eq!(play.counts(), (2, 1, 2));
        play.world.0.borrow_mut().stays_stopped = true;
        play.log();
        play.seconds(300, 25).await;
        let log = play.log();
        let count = |what: &str| log.iter().filter(|done| *done == what).count();
        assert_eq!((count("start"), count("delete")), (1, 1), "{log:?}");
        assert_eq!(play.counts(), (3, 0, 3));
    });
}

#[test]
fn what_a_provider_has_agreed_to_delete_is_not_asked_for_at_every_look() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 5).await;
        {
            let mut world = play.world.0.borrow_mut();
            world.lingers = true;
            let name = world.machines.keys().next().unwrap().clone();
            world.machines.insert(name, (MachineState::Failed, 0));
        }
        play.log();
        play.seconds(150, 5).await;
        let asked = play.log().iter().filter(|done| *done == "delete").count();
        assert!((2..=4).contains(&asked), "asked {asked} times in 150 seconds");
    });
}

#[test]
fn a_machine_that_the_provider_does_not_start_for_whatever_reason_is_not_asked_for_at_every_look() {
    for kind in [FailureKind::Conflict, FailureKind::NotFound, FailureKind::Quota, FailureKind::Permanent] {
        run_virtually(async {
            let mut play = Play::new();
            play.seconds(60, 55).await;
            play.seconds(300, 5).await;
            assert_eq!(play.counts(), (2, 1, 2));
            play.log();
            play.world.0.borrow_mut().refuses_to_start = Some(kind);
            play.seconds(120, 25).await;
            let log = play.log();
            let asked = log.iter().filter(|done| *done == "refused").count();
            // Attempts follow after 1, 2, 4, 8 and 16 seconds, and then every 30 seconds.
            assert!((5..=9).contains(&asked), "{kind:?}: {asked} times: {log:?}");
            play.world.0.borrow_mut().refuses_to_start = None;
            play.seconds(60, 25).await;
            assert!(play.log().contains(&"start".to_owned()), "{kind:?}");
        });
    }
}
