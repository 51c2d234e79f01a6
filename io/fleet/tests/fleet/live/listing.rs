//! Tests of incomplete lists of machines.

use weir_fleet::live::Health;
use weir_scale::Alarm;

use super::Play;
use crate::tools::run_virtually;

impl Play {
    /// Hides all present machines from the list.
    fn hide_all(&self) {
        let mut world = self.world.0.borrow_mut();
        world.hidden = world.machines.keys().cloned().collect();
    }

    /// Returns the number of servers that receive requests.
    fn serving(&self) -> usize {
        let members = weir_fleet::live::Balancer::members(&self.world).unwrap();
        members.iter().filter(|member| !member.draining && matches!(member.health, Health::Up(_))).count()
    }
}

#[test]
fn an_empty_list_is_not_believed_at_once_of_servers_that_pass_their_checks() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 35).await;
        let before = play.serving();
        play.log();
        play.hide_all();
        let round = play.seconds(9, 35).await;
        assert_eq!((play.serving(), play.log()), (before, Vec::new()));
        let alarms = round.decision.unwrap().alarms;
        assert!(alarms.contains(&Alarm::LeftOut(before as u32)), "{alarms:?}");
        play.world.0.borrow_mut().hidden.clear();
        let round = play.seconds(30, 35).await;
        assert_eq!((play.serving(), play.log()), (before, Vec::new()));
        assert_eq!(round.decision.unwrap().alarms, []);
    });
}

#[test]
fn servers_that_are_left_out_for_long_are_replaced_and_serve_until_the_others_do() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 35).await;
        let before = play.serving();
        play.log();
        play.hide_all();
        for _ in 0..60 {
            play.seconds(1, 35).await;
            assert!(play.serving() >= before, "{} of {before}", play.serving());
        }
        let log = play.log();
        let times = |what: &str| log.iter().filter(|done| *done == what).count();
        assert_eq!((times("create"), times("drain"), times("remove")), (before, before, before), "{log:?}");
        assert_eq!(play.serving(), before);
    });
}

#[test]
fn machines_are_made_once_though_no_list_names_them() {
    run_virtually(async {
        let mut play = Play::new();
        play.world.0.borrow_mut().hides_new = true;
        play.seconds(50, 5).await;
        assert_eq!(play.log(), ["create", "create"]);
    });
}

#[test]
fn machines_of_which_it_was_found_out_later_that_they_were_made_are_not_made_again_either() {
    run_virtually(async {
        let mut play = Play::new();
        play.world.0.borrow_mut().hides_new = true;
        play.world.0.borrow_mut().answers_lost = 2;
        play.seconds(50, 5).await;
        assert_eq!(play.world.0.borrow().machines.len(), 2);
        assert_eq!(play.world.0.borrow().answers_lost, 0);
    });
}

#[test]
fn a_machine_that_is_left_out_and_fails_its_checks_is_gone() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 35).await;
        play.log();
        let name = play.world.0.borrow().machines.keys().next().unwrap().clone();
        play.world.0.borrow_mut().machines.remove(&name);
        play.seconds(2, 35).await;
        assert_eq!(play.log(), ["drain", "create", "remove"]);
    });
}

#[test]
fn a_machine_that_a_list_leaves_out_finishes_its_requests() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 15).await;
        play.log();
        let name = play.world.0.borrow().machines.keys().next().unwrap().clone();
        play.world.0.borrow_mut().active = 1;
        play.world.0.borrow_mut().hidden = [name.clone()].into();
        play.seconds(30, 15).await;
        let log = play.log();
        assert!(log.contains(&"drain".to_owned()) && !log.contains(&"remove".to_owned()), "{log:?}");
        // The server is in the list again, and gets requests again if needed.
        play.world.0.borrow_mut().hidden.clear();
        play.world.0.borrow_mut().active = 0;
        play.seconds(1, 15).await;
        assert!(play.world.0.borrow().machines.contains_key(&name));
    });
}
