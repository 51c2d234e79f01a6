//! Tests of fleets that scale by the reports of agents on their servers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use weir_e2e::Weir;
use weir_testkit::{PATIENCE, RawServer, wait_until};

use crate::place::{Place, fleet, has_settled_at};

#[test]
fn a_fleet_follows_the_load_of_processors_and_holds_when_nobody_tells_it() {
    let place = Place::new();
    let word = Arc::new(Mutex::new("cpu:50%\n"));
    let says = Arc::clone(&word);
    let agent = RawServer::start(move |peer| peer.send(*says.lock().unwrap()));
    let says = |text| *word.lock().unwrap() = text;
    let rules = "min = 1\nmax = 3\ncapacity = 1000\nstandby = 2\nsignals = { kind = \"cpu\", per-server = 0.6 }\n\
                 policy = { kind = \"target\", up-after = \"400ms\", down-after = \"300ms\", damping = false, step-up = false, step-down = false }\n";
    let config = place.config(rules).replace(
        "[pool.web]\n",
        &format!(
            "[pool.web]\nagent = {{ port = {}, interval = \"20ms\", timeout = \"1s\" }}\n",
            agent.addr().port()
        ),
    );
    let weir = Weir::start(&config);
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, 1));
    says("cpu:90%\n");
    wait_until("as many as there may be", Duration::from_secs(60), || has_settled_at(&weir, 3));
    // The agents stop reporting their load, so it is unknown.
    says("up\n");
    wait_until("it is said", PATIENCE, || {
        fleet(&weir)["alarms"].to_string().contains("cpu: not measured: the fleet stays as it is")
    });
    let looks = fleet(&weir)["looks"].as_u64().unwrap();
    wait_until("some more looks", PATIENCE, || fleet(&weir)["looks"].as_u64().unwrap() > looks + 10);
    assert!(has_settled_at(&weir, 3));
    says("cpu:5%\n");
    wait_until("the least number of servers", Duration::from_secs(60), || has_settled_at(&weir, 1));
}
