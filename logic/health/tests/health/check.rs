//! Tests of the server state by active checks.

use std::time::Duration;

use proptest::prelude::*;
use weir_health::{CheckState, CheckTiming, InitialState, Transition};
use weir_model::Millis;

fn timing(rise: u16, fall: u16, initial: InitialState) -> CheckTiming {
    CheckTiming {
        interval: Millis(2_000),
        fast_interval: Millis(500),
        jitter_percent: 10,
        timeout: Millis(1_000),
        rise,
        fall,
        initial,
    }
}

fn shown(state: &mut CheckState, outcomes: &str) -> Vec<String> {
    let one = |outcome: char| {
        state.on_outcome(outcome == '+');
        state.to_string()
    };
    outcomes.chars().map(one).collect()
}

#[test]
fn a_server_falls_after_that_many_failures_and_rises_after_that_many_successes() {
    let mut state = CheckState::new(&timing(2, 3, InitialState::Up));
    let expected =
        ["UP", "UP 2/3", "UP 1/3", "UP", "UP 2/3", "UP 1/3", "DOWN", "DOWN 1/2", "DOWN", "DOWN 1/2", "UP"];
    assert_eq!(shown(&mut state, "+--+---+-++"), expected);
}

#[test]
fn only_the_outcome_that_changes_the_state_is_reported() {
    let mut state = CheckState::new(&timing(1, 2, InitialState::Up));
    assert_eq!(state.on_outcome(true), None);
    assert_eq!(state.on_outcome(false), None);
    assert_eq!(state.on_outcome(false), Some(Transition::Down));
    assert_eq!(state.on_outcome(false), None);
    assert_eq!(state.on_outcome(true), Some(Transition::Up));
}

#[test]
fn before_its_first_check_a_server_is_one_outcome_from_the_opposite() {
    let mut up = CheckState::new(&timing(3, 3, InitialState::Up));
    assert!(up.is_up());
    assert_eq!(up.on_outcome(false), Some(Transition::Down));

    let mut down = CheckState::new(&timing(3, 3, InitialState::Down));
    assert!(!down.is_up());
    assert_eq!(down.on_outcome(true), Some(Transition::Up));
}

#[test]
fn checks_come_fast_only_while_the_state_is_changing() {
    let mut state = CheckState::new(&timing(2, 3, InitialState::Up));
    let middle = u64::MAX / 2;
    let mut waits = vec![state.next_wait(middle)];
    for outcome in [true, false, false, false, true, true] {
        state.on_outcome(outcome);
        waits.push(state.next_wait(middle));
    }
    let millis: Vec<u128> = waits.iter().map(|wait| wait.as_millis().div_ceil(100) * 100).collect();
    assert_eq!(millis, [500, 2_000, 500, 500, 2_000, 500, 2_000]);
}

#[test]
fn new_rules_neither_raise_nor_fell_a_server() {
    let mut state = CheckState::new(&timing(2, 3, InitialState::Up));
    shown(&mut state, "+--");
    state.set_timing(&timing(5, 2, InitialState::Down));
    assert_eq!(state.to_string(), "UP 1/2");
    shown(&mut state, "-++++");
    assert_eq!(state.to_string(), "DOWN 4/5");
    state.set_timing(&timing(2, 2, InitialState::Up));
    assert_eq!(state.to_string(), "DOWN 1/2");
    state.on_outcome(true);
    assert_eq!(state.to_string(), "UP");
    state.set_timing(&timing(1, 9, InitialState::Up));
    assert_eq!(state.to_string(), "UP");
}

proptest! {
    #[test]
    fn a_server_is_up_exactly_if_the_last_full_row_was_one_of_successes(
        rise in 1_u16..5, fall in 1_u16..5, outcomes in prop::collection::vec(any::<bool>(), 1..60),
    ) {
        let mut state = CheckState::new(&timing(rise, fall, InitialState::Up));
        state.on_outcome(true);
        let (mut up, mut row) = (true, 0);
        for outcome in outcomes {
            row = if outcome == up { 0 } else { row + 1 };
            if row == if up { fall } else { rise } {
                up = !up;
                row = 0;
            }
            state.on_outcome(outcome);
            prop_assert_eq!(state.is_up(), up);
            let (steps, of) = state.progress();
            prop_assert!(steps <= of);
        }
    }

    #[test]
    fn a_wait_varies_by_no_more_than_its_jitter(percent in 0_u8..=100, random: u64) {
        let mut timing = timing(2, 3, InitialState::Up);
        timing.jitter_percent = percent;
        let mut state = CheckState::new(&timing);
        state.on_outcome(true);
        let share = f64::from(percent.min(50)) / 100.0;
        let wait = state.next_wait(random).as_secs_f64();
        prop_assert!((2.0 * (1.0 - share) - 1e-6..=2.0 * (1.0 + share) + 1e-6).contains(&wait));
        prop_assert!(state.first_wait(random) < Duration::from_millis(500));
    }
}
