//! Tests of fleets in a real OpenStack: Keystone, Nova, Neutron and Glance as released by their projects. Its
//! machines run nothing, so a real server listens at the address of each. `make test-openstack` starts the
//! services and runs these tests with OS_CLIENT_CONFIG_FILE set to its clouds.yaml; other test runs skip
//! them.

mod away;
mod cloud;
mod gate;
mod machines;
mod trouble;
mod wishes;

use std::collections::BTreeSet;
use std::time::Duration;
use std::{fs, thread};

use serde_json::json;
use weir_e2e::get;
use weir_testkit::{RawClient, Signal, wait_until};

use self::machines::{Machines, PATIENCE};
use crate::clients::Seen;
use crate::place::{busy_and_draining, fleet};

#[test]
#[ignore = "make test-openstack"]
fn twelve_machines_come_and_go_under_load_and_no_request_is_lost() {
    let machines = Machines::new("cycles", "fleet");
    let weir = machines.weir("fleet", "max = 12\nstandby = 4", "");
    let seen = Seen::during(weir.addr("web"), 12, 40, |seen| {
        for servers in [12, 1, 4, 1] {
            machines.scale(&weir, servers);
            seen.take_servers();
            let mut answering = BTreeSet::new();
            wait_until("each of them answers, those that were woken, too", PATIENCE, || {
                answering.extend(seen.take_servers());
                answering.len() as u64 >= servers
            });
            if servers == 1 {
                // A machine that is still being switched off cannot be woken yet.
                wait_until("four are kept", PATIENCE, || fleet(&weir)["stopped"] == 4);
            }
        }
    });
    let (done, failed) = (fleet(&weir)["done"].take(), seen.failed());
    println!("{} requests answered, {} failed; {done}", seen.answered(), failed.len());
    assert!(failed.is_empty(), "{} of {}: {failed:#?}\n{:#?}", failed.len(), seen.answered(), weir.log());
    assert_eq!(
        // With the five remaining machines, these are the twelve. A machine whose order got its response too
        // late counts as found, not as created.
        (&done["deleted"], &done["woken"], &done["cut"]),
        (&json!(7), &json!(3), &json!(0)),
        "{done}"
    );
    let metrics = weir.metrics();
    assert_eq!(metrics.get("weir_fleet_cut_requests_total", &[]), 0.0);
    assert_eq!(metrics.get("weir_pool_retries_total", &["pool=\"web\""]), 0.0);
    wait_until("the others are gone", PATIENCE, || {
        (machines.count("ACTIVE"), machines.count("SHUTOFF"), machines.listed().len()) == (1, 4, 5)
    });
}

#[test]
#[ignore = "make test-openstack"]
fn a_machine_is_not_switched_off_before_its_download_is_over() {
    // Much more than all buffers hold, so that the servers are busy for as long as the clients read slowly.
    const BYTES: usize = 64 << 20;
    const PIECE_BYTES: usize = 1_024;
    let machines = Machines::new("download", "fleet");
    let weir = machines.weir("fleet", "max = 2", "");
    machines.scale(&weir, 2);
    let mut clients = [(); 2].map(|()| RawClient::connect(weir.addr("web")).receive_buffer(64 * 1024));
    let servers = clients.each_mut().map(|client| {
        client.send(get(&format!("/bytes/{BYTES}")));
        let head = client.response_head();
        assert_eq!(head.status, 200);
        head.header("x-origin").unwrap().to_owned()
    });
    assert_ne!(servers[0], servers[1], "whichever goes has one");
    machines.order(&weir, 1);
    let mut taken = 0;
    wait_until("one drains and still works", PATIENCE, || {
        for client in &mut clients {
            client.read_exact(PIECE_BYTES);
        }
        taken += PIECE_BYTES;
        !busy_and_draining(&weir).is_empty()
    });
    for client in &mut clients {
        assert_eq!(client.read_exact(BYTES - taken).len(), BYTES - taken);
    }
    machines.settle(&weir, 1);
    wait_until("it is switched off", PATIENCE, || machines.count("SHUTOFF") == 1);
    assert_eq!(fleet(&weir)["done"]["cut"], 0);
}

#[test]
#[ignore = "make test-openstack"]
fn weir_killed_at_any_moment_comes_to_the_number_that_was_asked_for() {
    let machines = Machines::new("killed", "fleet");
    let rules = "max = 4\nstandby = 1";
    for (step, servers) in [3, 1, 4, 2, 4, 1].into_iter().enumerate() {
        let mut weir = machines.start("fleet", rules, "");
        weir.wait_for_log("led from here");
        machines.order(&weir, servers);
        // An arbitrary delay, so that the kill may hit any moment.
        thread::sleep(Duration::from_millis(100 + 250 * step as u64));
        weir.signal(Signal::KILL);
        weir.wait();
    }
    let weir = machines.start("fleet", rules, "");
    for servers in [3, 1] {
        machines.scale(&weir, servers);
        assert_eq!(weir.client().exchange(get("/")).status, 200);
    }
    // No machine is left that the fleet does not count.
    wait_until("one serves, one is kept", PATIENCE, || {
        (machines.count("ACTIVE"), machines.count("SHUTOFF"), machines.listed().len()) == (1, 1, 2)
    });
}

#[test]
#[ignore = "make test-openstack"]
fn machines_are_known_by_their_tags_when_all_else_is_forgotten() {
    let machines = Machines::new("adopted", "fleet");
    let mut weir = machines.weir("fleet", "max = 3", "");
    machines.scale(&weir, 3);
    let ids = || -> BTreeSet<String> {
        machines.listed().iter().map(|machine| machine["id"].as_str().unwrap().to_owned()).collect()
    };
    let before = ids();
    weir.signal(Signal::KILL);
    weir.wait();
    // Deletes journal, lease and desired state, as on another computer.
    fs::remove_dir_all(machines.path("fleet")).unwrap();
    let weir = machines.start("fleet", "min = 3\nmax = 3", "");
    machines.settle(&weir, 3);
    assert_eq!(before.len(), 3);
    assert_eq!(ids(), before, "{:#?}", weir.log());
    assert_eq!(fleet(&weir)["done"]["created"], 0);
    assert_eq!(weir.client().exchange(get("/")).status, 200);
}
