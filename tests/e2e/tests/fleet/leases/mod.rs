//! Tests of several Weirs with separate directories, as on several machines, and one fleet. A lease in a real
//! Redis or a real etcd determines the leader.

pub(crate) mod cloud;
mod secured;
mod store;

use std::fs;

use serde_json::json;
use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, Signal, wait_until};

use self::cloud::Cloud;
use self::store::{Kind, Store};
use crate::history::write_past;
use crate::place::{fleet, has_settled_at, told};

const TWO: &str = "min = 2\n";

fn kill(mut weir: Weir) {
    weir.signal(Signal::KILL);
    weir.wait();
}

/// Returns the number of times that this Weir has begun to lead.
fn times_led(weir: &Weir) -> usize {
    weir.log().iter().filter(|line| line.ends_with("fleet web: led from here")).count()
}

fn is_alarmed(weir: &Weir) -> bool {
    let fleet = fleet(weir);
    fleet["leads"] == false && fleet["alarms"] != json!([])
}

fn one_leads_and_the_other_takes_over(kind: Kind) {
    let cloud = Cloud::new();
    let store = Store::start(kind, cloud.place().path("store"), &[]);
    let mut first = Weir::start(&cloud.config("first", &store.lease(""), TWO));
    first.wait_for_log("led from here");
    wait_until("two servers", PATIENCE, || has_settled_at(&first, 2));
    let mut second = Weir::start(&cloud.config("second", &store.lease(""), TWO));
    let told_why = second.wait_for_log("not led from here");
    assert!(told_why.contains("key weir/fleet/web: another process acts for this fleet"), "{told_why}");
    assert!(told_why.ends_with(&format!("process {}", first.pid())), "{told_why}");
    assert_eq!(fleet(&second)["alarms"], json!([]), "that is as it should be");
    assert!(told(&second, &["status"]).contains("not led here"));

    kill(first);
    second.wait_for_log("fleet web: led from here");
    wait_until("it has the servers", PATIENCE, || has_settled_at(&second, 2));
    assert_eq!((cloud.ordered(), cloud.machines()), (2, 2), "none was made twice");
    assert_eq!(second.client().exchange(get("/")).status, 200);
}

#[test]
fn of_two_weirs_one_leads_by_redis_and_the_other_takes_over_when_it_is_killed() {
    one_leads_and_the_other_takes_over(Kind::Redis);
}

#[test]
fn of_two_weirs_one_leads_by_etcd_and_the_other_takes_over_when_it_is_killed() {
    one_leads_and_the_other_takes_over(Kind::Etcd);
}

fn what_is_wished_of_one_is_known_to_all_and_to_whoever_leads_next(kind: Kind) {
    let cloud = Cloud::new();
    let store = Store::start(kind, cloud.place().path("store"), &[]);
    let first = Weir::start(&cloud.config("first", &store.lease(""), TWO));
    wait_until("two servers", PATIENCE, || has_settled_at(&first, 2));
    let mut second = Weir::start(&cloud.config("second", &store.lease(""), TWO));
    second.wait_for_log("not led from here");

    // Sends a command to a Weir that does not lead.
    told(&second, &["scale", "3"]);
    wait_until("the leader has heard it", PATIENCE, || has_settled_at(&first, 3));
    told(&first, &["pause"]);
    wait_until("the other has heard it", PATIENCE, || fleet(&second)["paused"] == true);
    kill(first);
    second.wait_for_log("fleet web: led from here");
    wait_until("it has the servers", PATIENCE, || fleet(&second)["active"] == 3);
    let now = fleet(&second);
    assert_eq!((&now["paused"], &now["pinned"]), (&json!(true), &json!(3)), "{now}");

    // A Weir that starts later, without any knowledge.
    told(&second, &["scale", "4"]);
    wait_until("it is decided", PATIENCE, || fleet(&second)["wanted"] == 4);
    let third = Weir::start(&cloud.config("third", &store.lease(""), TWO));
    wait_until("it has heard it", PATIENCE, || {
        fleet(&third)["pinned"] == 4 && fleet(&third)["paused"] == true
    });
    assert_eq!((cloud.ordered(), cloud.machines()), (3, 3), "it is paused");
    told(&third, &["resume"]);
    wait_until("a fourth is made", PATIENCE, || has_settled_at(&second, 4));
}

#[test]
fn what_is_wished_of_one_of_several_weirs_is_known_to_all_through_redis() {
    what_is_wished_of_one_is_known_to_all_and_to_whoever_leads_next(Kind::Redis);
}

#[test]
fn what_is_wished_of_one_of_several_weirs_is_known_to_all_through_etcd() {
    what_is_wished_of_one_is_known_to_all_and_to_whoever_leads_next(Kind::Etcd);
}

fn forecasts_go_on_where_those_of_the_leader_before_ended(kind: Kind) {
    // A load that repeats every 90 minutes: longer than any of these Weirs runs.
    const FORESEES: &str = "min = 1\npolicy = { kind = \"predictive\", season = \"90m\", step = \"10s\" }\n";
    let cloud = Cloud::new();
    let store = Store::start(kind, cloud.place().path("store"), &[]);
    fs::create_dir(cloud.place().path("first")).unwrap();
    write_past(&cloud.place().path("first/history.csv"), (60..12_000).rev().step_by(10));
    let first = Weir::start(&cloud.config("first", &store.lease(""), FORESEES));
    wait_until("it forecasts", PATIENCE, || told(&first, &["explain"]).contains("by MSTL"));
    // Within one round the leader sends the earlier demand to the store.
    let looks = || fleet(&first)["looks"].as_u64().unwrap();
    let before = looks();
    wait_until("others are told", PATIENCE, || looks() > before + 1);
    let mut second = Weir::start(&cloud.config("second", &store.lease(""), FORESEES));
    second.wait_for_log("not led from here");
    kill(first);
    second.wait_for_log("fleet web: led from here");
    wait_until("the other one forecasts", PATIENCE, || told(&second, &["explain"]).contains("by MSTL"));
    assert!(!fleet(&second)["events"].to_string().contains("is not exchanged"), "{:#?}", second.log());
}

#[test]
fn forecasts_of_a_new_leader_go_on_through_redis() {
    forecasts_go_on_where_those_of_the_leader_before_ended(Kind::Redis);
}

#[test]
fn forecasts_of_a_new_leader_go_on_through_etcd() {
    forecasts_go_on_where_those_of_the_leader_before_ended(Kind::Etcd);
}

#[test]
fn a_redis_that_was_emptied_is_told_again_what_is_wished() {
    const WISH: &str = "weir/fleet/web/wish";
    let cloud = Cloud::new();
    let mut store = Store::start(Kind::Redis, cloud.place().path("store"), &[]);
    let first = Weir::start(&cloud.config("first", &store.lease(""), TWO));
    wait_until("two servers", PATIENCE, || has_settled_at(&first, 2));
    told(&first, &["scale", "3"]);
    wait_until("three servers", PATIENCE, || has_settled_at(&first, 3));
    wait_until("it is told", PATIENCE, || store.has(WISH));
    store.fail();
    store.go_on();
    wait_until("it is told again", PATIENCE, || store.has(WISH));
    let second = Weir::start(&cloud.config("second", &store.lease(""), TWO));
    wait_until("another one has heard it", PATIENCE, || fleet(&second)["pinned"] == 3);
    assert_eq!((cloud.ordered(), cloud.machines()), (3, 3));
}

#[test]
fn when_a_redis_is_emptied_under_a_leader_one_leads_again_and_nothing_is_made_twice_or_forgotten() {
    let cloud = Cloud::new();
    let store = Store::start(Kind::Redis, cloud.place().path("store"), &[]);
    let mut first = Weir::start(&cloud.config("first", &store.lease(""), TWO));
    wait_until("two servers", PATIENCE, || has_settled_at(&first, 2));
    let second = Weir::start(&cloud.config("second", &store.lease(""), TWO));
    told(&first, &["scale", "3"]);
    wait_until("three servers", PATIENCE, || has_settled_at(&first, 3));
    wait_until("the other has heard it", PATIENCE, || fleet(&second)["pinned"] == 3);

    store.empty();
    first.wait_for_log("the lease is somebody else's, or was taken away");
    // The first Weir that asks gets the lease.
    let both = [&first, &second];
    wait_until("one of them leads", PATIENCE, || {
        let leading = both.iter().filter(|weir| fleet(weir)["leads"] == true && has_settled_at(weir, 3));
        leading.count() == 1 && times_led(&first) + times_led(&second) >= 2
    });
    wait_until("it is told again what is wished", PATIENCE, || store.has("weir/fleet/web/wish"));
    assert_eq!((cloud.ordered(), cloud.machines()), (3, 3));
    assert_eq!(first.client().exchange(get("/")).status, 200);
    for weir in both {
        assert_eq!(fleet(weir)["pinned"], json!(3));
    }
}

#[test]
fn a_pause_that_one_was_told_outlives_a_number_that_another_one_could_not_pass_on_yet() {
    let cloud = Cloud::new();
    let mut store = Store::start(Kind::Redis, cloud.place().path("store"), &[]);
    let config = |name: &str| cloud.config(name, &store.lease(""), TWO);
    let (one, other) = (config("first"), config("second"));
    let first = Weir::start(&one);
    wait_until("two servers", PATIENCE, || has_settled_at(&first, 2));
    store.fail();
    told(&first, &["scale", "3"]);
    kill(first);
    store.go_on();
    let second = Weir::start(&other);
    told(&second, &["pause"]);
    wait_until("it is passed on", PATIENCE, || store.has("weir/fleet/web/wish"));
    let first = Weir::start(&one);
    wait_until("both know of both", PATIENCE, || {
        [&first, &second].into_iter().all(|weir| {
            let now = fleet(weir);
            now["pinned"] == 3 && now["paused"] == true
        })
    });
}

#[test]
fn what_a_killed_leader_had_ordered_is_waited_for_and_not_ordered_again() {
    let cloud = Cloud::new();
    let store = Store::start(Kind::Etcd, cloud.place().path("store"), &[]);
    cloud.close_gate();
    let four = "min = 4\n";
    let config = |name: &str| {
        cloud.config(name, &store.lease(""), four).replace("settling = \"1s\"", "settling = \"50s\"")
    };
    let first = Weir::start(&config("first"));
    wait_until("four are ordered", PATIENCE, || cloud.ordered() == 4);
    let mut second = Weir::start(&config("second"));
    second.wait_for_log("not led from here");
    kill(first);
    second.wait_for_log("fleet web: led from here");
    wait_until("it waits", PATIENCE, || {
        fleet(&second)["reason"]
            .as_str()
            .is_some_and(|why| why.contains("whoever led before may have begun to"))
    });
    assert_eq!((cloud.ordered(), cloud.machines()), (4, 0));
    cloud.open_gate();
    wait_until("it has the servers", PATIENCE, || has_settled_at(&second, 4));
    assert_eq!((cloud.ordered(), cloud.machines()), (4, 4), "none was made twice");

    // The unfinished orders in the first one's journal are done or no longer wanted.
    kill(second);
    let again = Weir::start(&config("first"));
    wait_until("it leads again", PATIENCE, || has_settled_at(&again, 4));
    assert_eq!((cloud.ordered(), cloud.machines()), (4, 4), "none was made again");
}

fn without_the_store_nobody_acts(kind: Kind) {
    let cloud = Cloud::new();
    let mut store = Store::start(kind, cloud.place().path("store"), &[]);
    let first = Weir::start(&cloud.config("first", &store.lease(""), TWO));
    wait_until("two servers", PATIENCE, || has_settled_at(&first, 2));
    let mut second = Weir::start(&cloud.config("second", &store.lease(""), TWO));
    second.wait_for_log("another process acts for this fleet");

    store.fail();
    wait_until("both say so", PATIENCE, || is_alarmed(&first) && is_alarmed(&second));
    assert_eq!(first.metrics().get("weir_fleet_alarms", &[]), 1.0);
    assert_eq!(first.metrics().get("weir_fleet_leads", &[]), 0.0);
    let both = [&first, &second];
    for weir in both {
        told(weir, &["scale", "3"]);
    }
    // The existing servers continue, and none is added.
    for _ in 0..4 {
        assert_eq!(first.client().exchange(get("/")).status, 200);
    }
    assert_eq!((cloud.ordered(), cloud.machines()), (2, 2));

    store.go_on();
    wait_until("one of them leads and has made another", PATIENCE, || {
        both.iter().any(|weir| fleet(weir)["leads"] == true && has_settled_at(weir, 3))
    });
    assert_eq!((cloud.ordered(), cloud.machines()), (3, 3));
    assert!(times_led(&first) + times_led(&second) >= 2);
}

#[test]
fn while_redis_is_gone_nobody_acts_and_servers_go_on() {
    without_the_store_nobody_acts(Kind::Redis);
}

#[test]
fn while_etcd_is_gone_nobody_acts_and_servers_go_on() {
    without_the_store_nobody_acts(Kind::Etcd);
}

#[test]
fn a_leader_that_stood_still_does_nothing_when_it_goes_on() {
    let cloud = Cloud::new();
    let store = Store::start(Kind::Etcd, cloud.place().path("store"), &[]);
    let mut first = Weir::start(&cloud.config("first", &store.lease(""), TWO));
    wait_until("two servers", PATIENCE, || has_settled_at(&first, 2));
    first.signal(Signal::STOP);
    let mut second = Weir::start(&cloud.config("second", &store.lease(""), TWO));
    second.wait_for_log("fleet web: led from here");
    wait_until("the second has the servers", PATIENCE, || has_settled_at(&second, 2));
    // The first Weir sees the change when it continues, and must neither create nor delete a machine.
    first.signal(Signal::CONT);
    first.wait_for_log("alarm: not led from here");
    first.wait_for_log("another process acts for this fleet");
    assert_eq!((times_led(&first), times_led(&second)), (1, 1));
    assert_eq!((cloud.ordered(), cloud.machines()), (2, 2));
}

#[test]
fn who_stops_gives_the_lease_back() {
    let cloud = Cloud::new();
    let store = Store::start(Kind::Redis, cloud.place().path("store"), &[]);
    let mut weir = Weir::start(&cloud.config("first", &store.lease(""), TWO));
    wait_until("two servers", PATIENCE, || has_settled_at(&weir, 2));
    assert!(store.has("weir/fleet/web"));
    assert!(weir.stop().success());
    assert!(!store.has("weir/fleet/web"), "others need not wait for its end");
    assert!(store.has("weir/fleet/web/epoch"));
}

#[test]
fn a_redis_that_was_just_started_makes_nobody_lead_yet() {
    let cloud = Cloud::new();
    let store = Store::start(Kind::Redis, cloud.place().path("store"), &[]);
    let lease = store.lease("").replace("\"4s\"", "\"10m\"");
    let mut weir = Weir::start(&cloud.config("first", &lease, TWO));
    let why = weir.wait_for_log("not led from here");
    assert!(why.contains("was started less than 600 s ago: somebody may still act under a lease"), "{why}");
    assert_eq!(cloud.ordered(), 0);
}
