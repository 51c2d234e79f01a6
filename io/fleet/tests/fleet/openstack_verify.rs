//! Tests of the check of a cloud before any server is created.

use serde_json::json;
use weir_fleet::openstack::{OpenStackProvider, OpenStackSettings};
use weir_fleet::{FailureKind, Provider};

use crate::fake_cloud::{FakeCloud, Fault, error};
use crate::openstack::{provider, settings};
use crate::tools::run;

#[test]
fn names_that_the_cloud_does_not_know_are_found_before_anything_is_made() {
    let fake = FakeCloud::start();
    let said = |change: fn(&mut OpenStackSettings)| {
        let mut settings = settings(&fake);
        change(&mut settings);
        let failure = run(OpenStackProvider::new(settings).unwrap().verify()).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Permanent);
        failure.message
    };
    assert_eq!(
        said(|settings| settings.flavor = "huge".to_owned()),
        "there is no flavor \"huge\" (there are small)"
    );
    assert_eq!(said(|settings| settings.image = "none".to_owned()), "there is no image \"none\"");
    assert_eq!(
        said(|settings| settings.image = "twice".to_owned()),
        "there is more than one image \"twice\": give its id"
    );
    assert_eq!(said(|settings| settings.networks = vec!["moon".to_owned()]), "there is no network \"moon\"");
    assert_eq!(
        said(|settings| settings.server_group = Some("none".to_owned())),
        "there is no server group \"none\""
    );
    assert_eq!(said(|settings| settings.key_pair = Some("none".to_owned())), "there is no key pair \"none\"");
    assert_eq!(
        said(|settings| settings.security_groups = vec!["none".to_owned()]),
        "there is no security group \"none\""
    );
    assert_eq!(
        said(|settings| settings.cloud.region = Some("West".to_owned())),
        "test: the catalogue has no public endpoint of compute in region West"
    );
}

#[test]
fn that_servers_may_not_be_created_is_found_before_one_is() {
    let fake = FakeCloud::start();
    let said = "Policy doesn't allow os_compute_api:servers:create to be performed.";
    fake.fail("POST", "/compute/v2.1/servers", Fault::Answer(403, "", error(said)));
    let provider = provider(&fake);
    let failure = run(provider.verify()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Auth);
    assert!(failure.message.starts_with("a server cannot be created: "), "{failure}");
    assert!(failure.message.ends_with(said), "{failure}");
    // With the permission, the check creates no server.
    run(provider.verify()).unwrap();
    assert_eq!(fake.state().servers.len(), 0);
}

#[test]
fn that_a_credential_may_not_end_servers_is_found_before_one_has_to_go() {
    const NOBODY: &str = "/compute/v2.1/servers/00000000-0000-0000-0000-000000000000";
    for (method, what, standby) in [("DELETE", "deleted", false), ("POST", "stopped and started", true)] {
        let fake = FakeCloud::start();
        let said = "The request you have made requires authentication.";
        // The check repeats the request with a new token.
        for _ in 0..2 {
            fake.fail(method, NOBODY, Fault::Answer(401, "", error(said)));
        }
        let settings = OpenStackSettings { standby, ..settings(&fake) };
        let provider = OpenStackProvider::new(settings).unwrap();
        let failure = run(provider.verify()).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Auth);
        assert!(failure.message.starts_with(&format!("a server cannot be {what}: ")), "{failure}");
        assert!(failure.message.ends_with(said), "{failure}");
        // Actions that the fleet never uses need no permission.
        run(provider.verify()).unwrap();
        assert_eq!(fake.count(&format!("POST {NOBODY}")) > 0, standby);
    }
}

#[test]
fn room_is_what_the_quotas_leave() {
    let fake = FakeCloud::start();
    let provider = provider(&fake);
    assert_eq!(run(provider.room()).unwrap(), Some(13));
    fake.state().absolute["totalInstancesUsed"] = json!(12);
    assert_eq!(run(provider.room()).unwrap(), Some(1));
    fake.state().absolute["maxTotalInstances"] = json!(-1);
    assert_eq!(run(provider.room()).unwrap(), Some(100), "51,200 MiB for servers of 512");
    fake.state().absolute["totalRAMUsed"] = json!(60_000);
    assert_eq!(run(provider.room()).unwrap(), Some(0));
    fake.state().absolute["maxTotalRAMSize"] = json!(-1);
    assert_eq!(run(provider.room()).unwrap(), None);
}

#[test]
fn settings_that_cannot_work_are_refused_at_once() {
    let fake = FakeCloud::start();
    let refused = |change: fn(&mut OpenStackSettings)| {
        let mut settings = settings(&fake);
        change(&mut settings);
        OpenStackProvider::new(settings).unwrap_err()
    };
    assert!(refused(|settings| settings.tags = vec!["a,b".to_owned()]).contains("cannot be a tag"));
    assert!(refused(|settings| settings.fleet = "x".repeat(60)).contains("cannot be a tag"));
    assert!(
        refused(|settings| settings.user_data = Some("x".repeat(50_000))).contains("user data are longer")
    );
}
