//! Tests of machines that are slow, that fail, or that exceed the quota.

use std::{fs, thread};

use serde_json::json;
use weir_e2e::Weir;
use weir_testkit::wait_until;

use super::cloud::Cloud;
use super::machines::{Machines, PATIENCE, fault};
use crate::clients::Seen;
use crate::place::{fleet, told};

/// Returns true if a recent event of the fleet contains this text.
fn has_told(weir: &Weir, part: &str) -> bool {
    fleet(weir)["events"].to_string().contains(part)
}

#[test]
#[ignore = "make test-openstack"]
fn machines_that_build_slowly_count_as_coming_and_are_not_made_twice() {
    let machines = Machines::new("slow", "fleet");
    let held = machines.path("holds");
    let weir = machines.weir("fleet", "max = 6", &fault("holds", &held));
    fs::write(&held, "").unwrap();
    let seen = Seen::during(weir.addr("web"), 6, 20, |seen| {
        machines.order(&weir, 4);
        wait_until("three are being built", PATIENCE, || machines.count("BUILD") == 3);
        let looked = fleet(&weir)["looks"].as_u64().unwrap();
        seen.take_servers();
        wait_until("it has looked again and again", PATIENCE, || {
            fleet(&weir)["looks"].as_u64().unwrap() > looked + 10
        });
        let now = fleet(&weir);
        assert_eq!((&now["active"], &now["coming"]), (&json!(1), &json!(3)), "{now}");
        assert_eq!((machines.listed().len(), seen.take_servers().len()), (4, 1));
        fs::remove_file(&held).unwrap();
        machines.settle(&weir, 4);
    });
    assert!(seen.failed().is_empty(), "{:#?}\n{:#?}", seen.failed(), weir.log());
    assert_eq!((&fleet(&weir)["done"]["created"], machines.listed().len()), (&json!(4), 4));
}

#[test]
#[ignore = "make test-openstack"]
fn a_machine_in_error_is_told_of_and_another_one_comes_in_its_place() {
    let machines = Machines::new("error", "fleet");
    let fails = machines.path("fails");
    let weir = machines.weir("fleet", "max = 3", &fault("fails", &fails));
    fs::write(&fails, "").unwrap();
    let seen = Seen::during(weir.addr("web"), 6, 20, |_| {
        machines.order(&weir, 2);
        wait_until("it is said", PATIENCE, || {
            has_told(&weir, "alarm: the provider has failed with 1 servers")
                && has_told(&weir, "aborted: it was to fail")
        });
        fs::remove_file(&fails).unwrap();
        machines.settle(&weir, 2);
    });
    assert!(seen.failed().is_empty(), "{:#?}\n{:#?}", seen.failed(), weir.log());
    wait_until("nothing is left of the other one", PATIENCE, || {
        (machines.count("ACTIVE"), machines.listed().len()) == (2, 2)
    });
    assert!(fleet(&weir)["done"]["deleted"].as_u64() >= Some(1));
}

/// A limit on the number of machines. Dropping it restores the former limit.
struct Quota {
    admin: Cloud,
    path: String,
}

const QUOTA: u32 = 2;

impl Quota {
    fn new(project: &str, machines: u32) -> Self {
        let quota = Self { admin: Cloud::of("admin"), path: format!("/os-quota-sets/{project}") };
        let body = json!({ "quota_set": { "instances": machines } });
        quota.admin.told("compute", "PUT", &quota.path, Some(&body));
        quota
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Forced, because more machines may exist by now.
        let body = json!({ "quota_set": { "instances": QUOTA, "force": true } });
        let restored = self.admin.ask("compute", "PUT", &self.path, Some(&body));
        let is_restored = restored.as_ref().is_ok_and(|(status, _)| *status == 200);
        assert!(is_restored || thread::panicking(), "{restored:?}");
    }
}

#[test]
#[ignore = "make test-openstack"]
fn a_quota_that_is_reached_is_shown_and_a_larger_one_is_used() {
    let machines = Machines::new("little", "small");
    let weir = machines.weir("small", "max = 4", "");
    let mut quota = None;
    let seen = Seen::during(weir.addr("web"), 6, 20, |seen| {
        machines.scale(&weir, u64::from(QUOTA));
        machines.order(&weir, 3);
        wait_until("it is said", PATIENCE, || {
            let troubles = fleet(&weir)["troubles"].to_string();
            troubles.contains("POST /servers: 403 Forbidden: Quota exceeded") && troubles.contains("(quota)")
        });
        assert!(told(&weir, &["status"]).contains("(quota)"));
        let answered = seen.answered();
        wait_until("servers answer", PATIENCE, || seen.answered() > answered + 100);
        assert_eq!(machines.listed().len(), QUOTA as usize);
        quota = Some(Quota::new(&machines.cloud.project, 3));
        machines.settle(&weir, 3);
    });
    assert!(seen.failed().is_empty(), "{:#?}\n{:#?}", seen.failed(), weir.log());
    assert_eq!(machines.listed().len(), 3);
    drop(quota);
}
