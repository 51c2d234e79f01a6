//! Tests that kill Weir at arbitrary moments and check that the next one continues.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, Signal, wait_until};

use crate::place::{Place, fleet, has_settled_at, told};

const RULES: &str = "min = 1\nmax = 8\ncapacity = 10\nstandby = 1\n";

fn scale(weir: &Weir, servers: u64) {
    weir.obey(&json!({"fleet-scale": {"fleet": "web", "servers": servers}}));
}

/// Returns the names of the pool's servers.
fn members(weir: &Weir) -> BTreeSet<String> {
    let pools = weir.obey(&json!({"show": {"what": "pools"}}))["snapshot"]["pools"].take();
    let servers = pools[0]["servers"].as_array().unwrap();
    servers.iter().map(|server| server["name"].as_str().unwrap().to_owned()).collect()
}

fn kill(mut weir: Weir) {
    weir.signal(Signal::KILL);
    weir.wait();
}

/// Checks that no process is left behind and none exists twice: the running processes are the pool's servers.
fn converges(place: &Place, weir: &Weir, servers: u64) {
    scale(weir, servers);
    wait_until("as many servers as there should be", Duration::from_secs(60), || {
        has_settled_at(weir, servers)
    });
    wait_until("no process but theirs", PATIENCE, || {
        place.processes().into_keys().collect::<BTreeSet<_>>() == members(weir)
    });
    assert_eq!(place.processes().len() as u64, servers);
    for _ in 0..servers * 2 {
        let response = weir.client().exchange(get("/"));
        assert_eq!(response.status, 200, "{response:?}");
    }
}

fn killed_again_and_again(state: impl Fn(&Place) -> String) {
    let place = Place::new();
    let config = format!("{}\n[weir]\nstate = {}\n", place.config(RULES), state(&place));
    // Each step wants another number of servers and kills Weir a little later after its first action.
    for (step, servers) in [5, 1, 6, 2, 7, 1, 4, 8].into_iter().enumerate() {
        let mut weir = Weir::start(&config);
        weir.wait_for_log("fleet web: led from here");
        scale(&weir, servers);
        // Weir logs nothing if the previous one was killed before its first action and left the number of
        // servers that is wanted now.
        wait_until("the first word, or nothing to do", PATIENCE, || {
            weir.log().iter().any(|line| line.contains("wanted; ")) || has_settled_at(&weir, servers)
        });
        // An arbitrary delay, so that the kill may hit any moment.
        std::thread::sleep(Duration::from_millis(40 * step as u64));
        kill(weir);
    }
    let weir = Weir::start(&config);
    converges(&place, &weir, 3);
    converges(&place, &weir, 1);
}

#[test]
fn weir_killed_at_any_moment_finds_its_servers_again_and_leaves_none_behind() {
    killed_again_and_again(|place| format!("{:?}", place.path("state.toml")));
}

#[test]
fn the_same_holds_where_the_proxy_remembers_nothing() {
    killed_again_and_again(|_| "false".to_owned());
}

#[test]
fn servers_outlive_a_stop_and_are_taken_over_as_they_are() {
    let place = Place::new();
    let config = place.config(RULES);
    let mut weir = Weir::start(&config);
    converges(&place, &weir, 3);
    let before = place.processes();
    assert!(weir.stop().success());
    assert_eq!(place.processes(), before);
    let weir = Weir::start(&config);
    // The number that the operator has set stays in force.
    wait_until("three servers", PATIENCE, || has_settled_at(&weir, 3));
    assert_eq!(place.processes(), before);
    assert_eq!(fleet(&weir)["pinned"], 3);
}

#[test]
fn of_two_weirs_one_leads_and_the_other_goes_on_when_it_ends() {
    let place = Place::new();
    let config = place.config(RULES);
    let first = Weir::start(&config);
    converges(&place, &first, 2);
    let before = place.processes();
    let mut second = Weir::start(&config);
    second.wait_for_log("not led from here");
    assert!(told(&second, &["status"]).contains("not led here"));
    assert_eq!(place.processes(), before);
    kill(first);
    second.wait_for_log("led from here");
    wait_until("it has the servers", PATIENCE, || has_settled_at(&second, 2));
    assert_eq!(place.processes(), before);
    assert_eq!(second.client().exchange(get("/")).status, 200);
}

#[test]
fn what_was_asked_of_one_weir_is_known_to_the_next_that_leads_and_to_those_that_do_not() {
    let place = Place::new();
    let config = place.config(RULES);
    let first = Weir::start(&config);
    converges(&place, &first, 1);
    let mut second = Weir::start(&config);
    second.wait_for_log("not led from here");
    scale(&first, 3);
    wait_until("three servers", PATIENCE, || has_settled_at(&first, 3));
    told(&first, &["pause"]);
    wait_until("the other one knows", PATIENCE, || fleet(&second)["pinned"] == 3);
    kill(first);
    second.wait_for_log("led from here");
    wait_until("it has the servers", PATIENCE, || has_settled_at(&second, 3));
    let shown = fleet(&second);
    assert_eq!((&shown["pinned"], &shown["paused"]), (&json!(3), &json!(true)));
    // Either Weir accepts the commands.
    let third = Weir::start(&config);
    told(&third, &["resume"]);
    told(&third, &["scale", "2"]);
    wait_until("two servers", PATIENCE, || has_settled_at(&second, 2));
}

#[test]
fn a_server_that_hangs_is_replaced() {
    let place = Place::new();
    let weir = Weir::start(&place.config(&format!("{RULES}replace-after = \"1s\"\n")));
    converges(&place, &weir, 2);
    let (name, pid) = place.processes().into_iter().next().unwrap();
    let stopped = std::process::Command::new("kill").args(["-STOP", &pid.to_string()]).status().unwrap();
    assert!(stopped.success());
    wait_until("it is gone from the pool", Duration::from_secs(60), || !members(&weir).contains(&name));
    wait_until("another one is there", Duration::from_secs(60), || has_settled_at(&weir, 2));
    assert_eq!(weir.metrics().get("weir_fleet_actions_total", &["action=\"replace\""]), 1.0);
}
