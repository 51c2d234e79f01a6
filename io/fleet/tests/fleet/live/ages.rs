//! Tests of servers that existed before the present leader.

use weir_fleet::MachineState;
use weir_scale::Leaver;

use super::Play;
use crate::tools::run_virtually;

/// Returns the two servers that stay of three existing ones.
fn stay(goes_first: Leaver) -> Vec<String> {
    run_virtually(async {
        let mut play = Play::with(|rules| rules.leaver = goes_first);
        for (name, created_s) in [("a", 3_000), ("b", 1_000), ("c", 2_000)] {
            let mut world = play.world.0.borrow_mut();
            world.machines.insert(name.to_owned(), (MachineState::Running, 0));
            world.created_s.insert(name.to_owned(), created_s);
        }
        play.seconds(60, 25).await;
        play.seconds(200, 15).await;
        play.world.0.borrow().members.keys().cloned().collect()
    })
}

#[test]
fn they_are_as_old_as_the_provider_tells() {
    assert_eq!(stay(Leaver::Oldest), ["a", "c"]);
    assert_eq!(stay(Leaver::Newest), ["b", "c"]);
}
