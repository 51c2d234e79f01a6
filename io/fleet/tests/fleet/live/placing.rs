//! Tests of the placement of servers: ports and zones.

use weir_scale::Leaver;

use super::Play;
use crate::tools::run_virtually;

#[test]
fn a_server_that_listens_somewhere_else_after_a_restart_is_found_there() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(30, 5).await;
        play.log();
        play.world.0.borrow_mut().port = Some(9090);
        play.seconds(1, 5).await;
        assert_eq!(play.log(), ["relocate", "relocate"]);
        assert_eq!(play.ports(), [9090, 9090]);
        play.seconds(5, 5).await;
        assert_eq!(play.log(), Vec::<String>::new());
    });
}

#[test]
fn whoever_stands_where_most_are_goes_first_if_that_is_wanted() {
    run_virtually(async {
        let mut play = Play::with(|rules| rules.leaver = Leaver::ZoneBalance);
        play.seconds(60, 25).await;
        let names: Vec<String> = play.world.0.borrow().machines.keys().cloned().collect();
        // The zone decides regardless of age: of the two servers in one zone, either may be the oldest or the
        // newest.
        play.world.0.borrow_mut().zones =
            names.iter().zip(["north", "north", "south"]).map(|(name, zone)| (name.clone(), zone)).collect();
        play.seconds(200, 15).await;
        let left: Vec<String> = play.world.0.borrow().members.keys().cloned().collect();
        assert_eq!((names.len(), left.len()), (3, 2));
        assert!(left.contains(&names[2]), "{left:?} of {names:?}");
    });
}
