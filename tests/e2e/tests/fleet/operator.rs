//! Tests of the commands of operators for fleets.

use serde_json::{Value, json};
use weir_e2e::Weir;
use weir_testkit::{PATIENCE, wait_until};

use crate::place::{Place, ask, fleet, has_settled_at, told};

const RULES: &str = "min = 1\nmax = 4\ncapacity = 10\nstandby = 1\n";

#[test]
fn a_fleet_is_scaled_paused_resumed_and_explained_from_the_command_line() {
    let place = Place::new();
    let weir = Weir::start(&place.config(RULES));
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, 1));
    assert!(told(&weir, &["scale", "3"]).contains("3 servers"));
    wait_until("three servers", PATIENCE, || has_settled_at(&weir, 3));
    assert!(told(&weir, &["status"]).contains("held at 3"));
    assert!(told(&weir, &["explain"]).contains("3 were asked for by hand"));
    let history: Value = serde_json::from_str(&told(&weir, &["history", "--json"])).unwrap();
    assert!(history.as_array().unwrap().iter().any(|row| row["active_balancer"] == 3), "{history}");
    let page = weir.admin("/");
    for part in ["Fleet web", ">held at 3<", "Last decision: ", "<svg viewBox", ">needed</text>"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("http://"), "it loads nothing: {page}");

    told(&weir, &["pause"]);
    told(&weir, &["scale", "1", "web"]);
    wait_until("it is decided", PATIENCE, || fleet(&weir)["wanted"] == 1);
    wait_until("it is shown", PATIENCE, || {
        told(&weir, &["plan"]).contains("paused; would be done: drain web-")
    });
    assert_eq!((fleet(&weir)["active"].as_u64(), place.processes().len()), (Some(3), 3));
    wait_until("it is told", PATIENCE, || {
        told(&weir, &["explain"]).contains("  1 wanted; 1 were asked for by hand")
    });
    told(&weir, &["resume"]);
    wait_until("one server", PATIENCE, || has_settled_at(&weir, 1));
    assert!(told(&weir, &["plan"]).contains("nothing"));
    assert!(told(&weir, &["scale", "auto"]).contains("demand"));

    for (wrong, why) in [
        (&["scale", "9"][..], "outside of its bounds, 1 to 4"),
        (&["scale", "2", "other"], "there is no fleet other"),
        (&["explain", "other"], "there is no fleet other: there are web"),
    ] {
        let output = ask(&weir, wrong);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(why), "{output:?}");
    }
}

#[test]
fn a_reload_leaves_a_fleet_alone_and_new_bounds_hold_without_a_server_lost() {
    let place = Place::new();
    let mut weir = Weir::start(&place.config(RULES));
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, 1));
    let before = place.processes();
    let looks = fleet(&weir)["looks"].as_u64().unwrap();
    weir.reload(&format!(
        "{}\n[listener.more]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n",
        place.config(RULES)
    ));
    wait_until("it goes on", PATIENCE, || fleet(&weir)["looks"].as_u64().unwrap() > looks);
    assert_eq!(place.processes(), before);

    weir.reload(&place.config(&RULES.replace("min = 1", "min = 2")));
    wait_until("a second server", PATIENCE, || has_settled_at(&weir, 2));
    assert!(before.iter().all(|kept| place.processes().contains_key(kept.0)));
    // The servers of a fleet that is removed from the config continue to run.
    let config = place.config(RULES);
    let (rest, _) = config.split_once("[fleet.web]").unwrap();
    weir.reload(rest);
    weir.wait_for_log("its servers stay as they are");
    assert_eq!(place.processes().len(), 2);
    assert_eq!(weir.client().exchange(weir_e2e::get("/")).status, 200);
    let shown = weir.obey(&json!({"show": {"what": "fleets"}}));
    assert_eq!(shown["snapshot"].get("fleets"), None);
}

/// Removes the fleet from a config.
fn without_fleet(config: &str) -> &str {
    config.split_once("[fleet.web]").unwrap().0
}

#[test]
fn a_fleet_has_no_machine_left_when_none_is_asked_for_and_no_request_is_lost() {
    let place = Place::new();
    let weir = Weir::start(&place.config(RULES));
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, 1));
    told(&weir, &["scale", "2"]);
    wait_until("two servers", PATIENCE, || has_settled_at(&weir, 2));
    told(&weir, &["scale", "1"]);
    wait_until("one of them is kept stopped", PATIENCE, || fleet(&weir)["stopped"] == 1);
    let mut client = weir.client();
    client.send(weir_e2e::get("/slow?bytes=100000&rate=50000"));
    assert_eq!(client.response_head().status, 200);
    assert!(told(&weir, &["scale", "0"]).contains("web: all machines are drained and deleted"));
    assert_eq!(client.read_exact(100_000).len(), 100_000);
    wait_until("none is there", PATIENCE, || {
        fleet(&weir)["servers_total"] == 0 && place.processes().is_empty()
    });
    assert_eq!(fleet(&weir)["done"]["cut"], 0);
    told(&weir, &["scale", "auto"]);
    wait_until("one again", PATIENCE, || has_settled_at(&weir, 1));
}

#[test]
fn a_fleet_that_is_taken_out_of_the_config_says_what_runs_on_and_how_it_ends() {
    let place = Place::new();
    let rules = RULES.replace("min = 1", "min = 2");
    let config = format!("[weir]\nstate = {:?}\n\n{}", place.path("state"), place.config(&rules));
    let mut weir = Weir::start(&config);
    wait_until("two servers", PATIENCE, || has_settled_at(&weir, 2));
    let names: Vec<String> = place.processes().into_keys().collect();
    weir.reload(without_fleet(&config));
    let line = weir.wait_for_log("fleet web is not in the config any more");
    assert!(names.iter().all(|name| line.contains(&format!("{name} (active)"))), "{line}");
    assert!(line.contains("`weir fleet scale 0 web` drains them"), "{line}");
    let output = ask(&weir, &["scale", "2", "web"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(why.contains("fleet web is not in the config any more. `weir fleet scale 0 web`"), "{why}");
    // A restart reports it as well.
    let mut weir = weir.start_again();
    let line = weir.wait_for_log("fleet web is not in the config, and its servers run on");
    assert!(names.iter().all(|name| line.contains(&format!("web/{name} (127.0.0.1:"))), "{line}");
    assert_eq!(place.processes().len(), 2);
    // The running process deletes the machines of the removed fleet.
    weir.reload(&config);
    wait_until("it has its servers", PATIENCE, || has_settled_at(&weir, 2));
    weir.reload(without_fleet(&config));
    assert!(told(&weir, &["scale", "0", "web"]).contains("all machines are drained and deleted"));
    weir.wait_for_log("fleet web: all of its machines are gone");
    wait_until("none is there", PATIENCE, || place.processes().is_empty());
    // A new fleet with this name starts without the old settings.
    weir.reload(&config);
    wait_until("two servers again", PATIENCE, || has_settled_at(&weir, 2));
}

#[test]
fn a_fleet_whose_pool_is_gone_too_still_lets_its_machines_go() {
    let place = Place::new();
    let config = place.config(RULES);
    let mut weir = Weir::start(&config);
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, 1));
    weir.reload(
        "[listener.web]\nbind = \"127.0.0.1:0\"\n[[route]]\nrespond = { status = 200, body = \"none\" }\n",
    );
    told(&weir, &["scale", "0", "web"]);
    weir.wait_for_log("fleet web: all of its machines are gone");
    wait_until("none is there", PATIENCE, || place.processes().is_empty());
}

#[test]
fn a_new_server_takes_its_share_slowly_where_its_pool_has_it_so() {
    let place = Place::new();
    let config = place.config(RULES).replace("retry = false\n", "retry = false\nslow-start = \"5s\"\n");
    let weir = Weir::start(&config);
    let states = || {
        let servers = fleet(&weir)["servers"].take();
        let servers = servers.as_array().cloned().unwrap_or_default();
        let mut states: Vec<String> =
            servers.iter().map(|server| server["state"].as_str().unwrap().to_owned()).collect();
        states.sort_unstable();
        states
    };
    wait_until("the first server", PATIENCE, || states() == ["active"]);
    weir.obey(&json!({"fleet-scale": {"fleet": "web", "servers": 2}}));
    wait_until("another one takes a part of its share", PATIENCE, || states() == ["active", "warming"]);
    // A server in slow start counts as active.
    assert_eq!(fleet(&weir)["active"], 2);
    wait_until("all of it", PATIENCE, || states() == ["active", "active"]);
}

#[test]
fn a_fleet_that_moves_to_another_pool_leaves_none_behind_and_cuts_nothing_off() {
    const BYTES: usize = 100_000;
    let place = Place::new();
    let config = format!(
        "{}\n[listener.other]\nbind = \"127.0.0.1:0\"\npool = \"other\"\n\
         [pool.other]\ncheck = {{ http = \"GET /health\", interval = \"100ms\", rise = 1, fall = 3 }}\n",
        place.config(RULES)
    );
    let mut weir = Weir::start(&config);
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, 1));
    weir.obey(&json!({"fleet-scale": {"fleet": "web", "servers": 2}}));
    wait_until("two servers", PATIENCE, || has_settled_at(&weir, 2));
    let mut client = weir.client();
    client.send(weir_e2e::get(&format!("/slow?bytes={BYTES}&rate=50000")));
    assert_eq!(client.response_head().status, 200);
    weir.reload(&config.replace("[fleet.web]\npool = \"web\"", "[fleet.web]\npool = \"other\""));
    let pools = || weir.obey(&json!({"show": {"what": "pools"}}))["snapshot"]["pools"].take();
    let servers = |pool: &str| {
        let pools = pools();
        let found = pools.as_array().unwrap().iter().find(|found| found["name"] == pool).cloned();
        found.unwrap()["servers"].as_array().unwrap().clone()
    };
    wait_until("they are in the other pool", PATIENCE, || {
        fleet(&weir)["pool"] == "other" && has_settled_at(&weir, 2) && servers("other").len() == 2
    });
    assert_eq!(client.read_exact(BYTES).len(), BYTES);
    wait_until("none is left behind", PATIENCE, || servers("web").is_empty());
    assert_eq!((place.processes().len(), &fleet(&weir)["done"]["cut"]), (2, &json!(0)));
}

#[test]
fn servers_of_the_pool_that_are_not_the_fleets_are_left_alone() {
    let place = Place::new();
    let other = weir_testkit::RawServer::answering("mine");
    let config = place.config(RULES).replace(
        "[pool.web]\n",
        &format!(
            "[pool.web]\nservers = [{{ name = \"web-000000000000\", address = \"{}\" }}]\n",
            other.addr()
        ),
    );
    let weir = Weir::start(&config);
    wait_until("the fleet's server", PATIENCE, || has_settled_at(&weir, 1));
    let added = json!({"add-server": {"pool": "web", "server": {"name": "extra", "address": other.addr().to_string()}}});
    weir.obey(&added);
    weir.obey(&json!({"fleet-scale": {"fleet": "web", "servers": 3}}));
    wait_until("three servers", PATIENCE, || has_settled_at(&weir, 3));
    weir.obey(&json!({"fleet-scale": {"fleet": "web", "servers": 1}}));
    wait_until("one server", PATIENCE, || has_settled_at(&weir, 1));
    let pools = weir.obey(&json!({"show": {"what": "pools"}}))["snapshot"]["pools"].take();
    let servers = pools[0]["servers"].as_array().unwrap();
    let names: Vec<&str> = servers.iter().map(|server| server["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    for name in ["web-000000000000", "extra"] {
        let server = servers.iter().find(|server| server["name"] == name).unwrap();
        assert_eq!((&server["admin"], &server["fleet"]), (&json!("ready"), &Value::Null));
    }
}

#[test]
fn servers_of_a_fleet_are_measured_where_the_pool_has_weights_found() {
    let place = Place::new();
    let config = place.config(RULES);
    let weir = Weir::start(
        &config
            .replace("[pool.web]\n", "[pool.web]\nauto-weight = { interval = \"1s\", min-requests = 1 }\n"),
    );
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, 1));
    let server =
        || weir.obey(&json!({"show": {"what": "pools"}}))["snapshot"]["pools"][0]["servers"][0].take();
    assert_eq!(server()["weight"], 16, "average to begin with");
    wait_until("it is measured", PATIENCE, || {
        assert_eq!(weir.client().exchange(weir_e2e::get("/")).status, 200);
        // The requests may make the fleet add servers, to which this one is compared. So the test does not
        // expect a certain speed.
        let is_measured = |reason: &str| reason.contains(", Pp ") && !reason.contains(", Pp not known yet");
        server()["weight_reason"].as_str().is_some_and(is_measured)
    });
}
