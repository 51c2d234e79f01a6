//! Tests of the provider with a real control plane: Keystone, Nova, Glance and Neutron. `make test-openstack`
//! starts one and runs these tests with OS_CLIENT_CONFIG_FILE set to its clouds.yaml; other runs omit them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use weir_fleet::openstack::{Cloud, OpenStackProvider, OpenStackSettings, Park, Surroundings};
use weir_fleet::{
    Actuator, FailureKind, Lease, Machine, MachineId, MachineState, Order, Provider, Steps, Token,
};
use weir_testkit::TempDir;

use crate::tools::run;

/// Maximum wait; a server takes about a second.
const PATIENCE: Duration = Duration::from_secs(180);

fn cloud() -> Cloud {
    Surroundings::of_process().cloud(Some("fleet")).expect("make test-openstack sets OS_CLIENT_CONFIG_FILE")
}

fn settings(fleet: &str) -> OpenStackSettings {
    let mut settings = OpenStackSettings::new(fleet, cloud(), "img", "small");
    settings.networks = vec!["net".to_owned()];
    settings.user_data = Some("#cloud-config\nhostname: {machine}\n".to_owned());
    settings
}

/// Deletes the fleet's servers at the end of the test.
struct Fleet(OpenStackProvider);

impl Fleet {
    fn new(settings: OpenStackSettings) -> Self {
        Self(OpenStackProvider::new(settings).unwrap())
    }

    async fn until(&self, what: &str, condition: impl Fn(&[Machine]) -> bool) -> Vec<Machine> {
        let end = Instant::now() + PATIENCE;
        loop {
            let machines = self.0.machines().await.unwrap();
            if condition(&machines) {
                return machines;
            }
            assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}: {machines:#?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn until_all(&self, count: usize, state: MachineState) -> Vec<Machine> {
        let all = |machines: &[Machine]| {
            machines.len() == count && machines.iter().all(|machine| machine.state == state)
        };
        self.until(&format!("{count} are {state:?}"), all).await
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        run(async {
            for machine in self.0.machines().await.unwrap_or_default() {
                let _ = self.0.delete(&machine.id).await;
            }
        });
    }
}

fn ids(machines: &[Machine]) -> Vec<MachineId> {
    machines.iter().map(|machine| machine.id.clone()).collect()
}

#[test]
#[ignore = "make test-openstack"]
fn twelve_servers_at_once_live_through_everything() {
    let fleet = Fleet::new(settings("twelve"));
    let directory = TempDir::new().unwrap();
    run(async {
        fleet.0.verify().await.unwrap();
        let open = || {
            let lease = Lease::acquire(&directory.path().join("lease")).unwrap();
            let provider = OpenStackProvider::new(settings("twelve")).unwrap();
            Actuator::open("twelve", directory.path(), lease, Box::new(provider), Steps::default()).unwrap()
        };
        let actuator = open();
        let made = actuator.create(12).await;
        assert!(made.iter().all(Result::is_ok), "{made:?}");
        let active = fleet.until_all(12, MachineState::Running).await;
        let addresses: BTreeSet<_> = active.iter().filter_map(|machine| machine.ip).collect();
        assert_eq!(addresses.len(), 12);
        let asked: BTreeSet<_> = made.into_iter().map(|machine| machine.unwrap().token).collect();
        assert_eq!(active.iter().map(|machine| machine.token.clone()).collect::<BTreeSet<_>>(), asked);

        // The next process finds the same servers.
        drop(actuator);
        let actuator = open();
        assert_eq!(actuator.settle().await.unwrap(), []);
        let all = ids(&actuator.machines().await.unwrap());
        assert_eq!(all.len(), 12);

        let results = actuator.stop(&all).await;
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        fleet.until_all(12, MachineState::Stopped).await;
        assert!(actuator.stop(&all).await.iter().all(Result::is_ok), "what is stopped is stopped");
        let results = actuator.start(&all).await;
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        fleet.until_all(12, MachineState::Running).await;
        let results = actuator.delete(&all).await;
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        fleet.until("all are gone", <[Machine]>::is_empty).await;
        assert!(actuator.delete(&all).await.iter().all(Result::is_ok), "what is gone is gone");
    });
}

#[test]
#[ignore = "make test-openstack"]
fn a_creation_that_is_repeated_finds_its_server_at_once() {
    let fleet = Fleet::new(settings("again"));
    run(async {
        let token = Token::fresh("again").unwrap();
        let first = fleet.0.create(Order { token: &token, again: false }).await.unwrap();
        let second = fleet.0.create(Order { token: &token, again: true }).await.unwrap();
        assert_eq!(first.id, second.id);
        assert_eq!(fleet.0.machines().await.unwrap().len(), 1);
    });
}

#[test]
#[ignore = "make test-openstack"]
fn a_server_is_shelved_and_comes_back() {
    let mut settings = settings("shelf");
    settings.park = Park::Shelve;
    let fleet = Fleet::new(settings);
    run(async {
        let token = Token::fresh("shelf").unwrap();
        let made = fleet.0.create(Order { token: &token, again: false }).await.unwrap();
        let early = fleet.0.stop(&made.id).await;
        assert!(early.is_err_and(|failure| failure.kind == FailureKind::Conflict), "it still builds");
        fleet.until_all(1, MachineState::Running).await;
        fleet.0.stop(&made.id).await.unwrap();
        fleet.until_all(1, MachineState::Stopped).await;
        fleet.0.start(&made.id).await.unwrap();
        fleet.until_all(1, MachineState::Running).await;
    });
}

#[test]
#[ignore = "make test-openstack"]
fn another_fleet_s_servers_are_left_alone() {
    let (ours, theirs) = (Fleet::new(settings("ours")), Fleet::new(settings("theirs")));
    run(async {
        let token = Token::fresh("theirs").unwrap();
        let made = theirs.0.create(Order { token: &token, again: false }).await.unwrap();
        assert_eq!(ours.0.machines().await.unwrap(), []);
        let failure = ours.0.delete(&made.id).await.unwrap_err();
        assert!(failure.message.ends_with("is not of fleet ours: left alone"), "{failure}");
        assert_eq!(theirs.0.machines().await.unwrap().len(), 1);
    });
}

/// Uses a project of its own with a quota of two servers, because the other tests share their project's
/// quota.
#[test]
#[ignore = "make test-openstack"]
fn a_quota_is_said_to_be_one_and_known_in_advance() {
    let cloud = Surroundings::of_process().cloud(Some("small")).unwrap();
    let fleet = Fleet::new(OpenStackSettings { cloud, ..settings("quota") });
    run(async {
        assert_eq!(fleet.0.room().await.unwrap(), Some(2));
        for _ in 0..2 {
            let token = Token::fresh("quota").unwrap();
            fleet.0.create(Order { token: &token, again: false }).await.unwrap();
        }
        // Nova counts a server once it has a host.
        fleet.until_all(2, MachineState::Running).await;
        assert_eq!(fleet.0.room().await.unwrap(), Some(0));
        let token = Token::fresh("quota").unwrap();
        let failure = fleet.0.create(Order { token: &token, again: false }).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Quota, "{failure}");
    });
}

#[test]
#[ignore = "make test-openstack"]
fn a_server_that_finds_no_host_has_failed_and_says_why() {
    let mut settings = settings("crowded");
    settings.server_group = Some("apart".to_owned());
    let fleet = Fleet::new(settings);
    run(async {
        // The test creates one server more than there are hosts; the group requires a separate host for each.
        let count: usize = std::env::var("WEIR_OPENSTACK_HOSTS").unwrap().parse().unwrap();
        for at in 1..=count + 1 {
            let token = Token::fresh("crowded").unwrap();
            fleet.0.create(Order { token: &token, again: false }).await.unwrap();
            let settled = |machines: &[Machine]| {
                machines.len() == at && machines.iter().all(|machine| machine.state != MachineState::Building)
            };
            fleet.until("it is built, or not", settled).await;
        }
        let machines = fleet.0.machines().await.unwrap();
        let failed: Vec<_> =
            machines.iter().filter(|machine| machine.state == MachineState::Failed).collect();
        assert_eq!(failed.len(), 1);
        assert!(failed[0].note.as_ref().unwrap().contains("No valid host"), "{failed:?}");
    });
}

#[test]
#[ignore = "make test-openstack"]
fn names_that_are_not_there_are_found_in_advance() {
    let said = |change: fn(&mut OpenStackSettings)| {
        let mut settings = settings("names");
        change(&mut settings);
        let failure = run(OpenStackProvider::new(settings).unwrap().verify()).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Permanent);
        failure.message
    };
    assert!(
        said(|settings| settings.flavor = "huge".to_owned())
            .starts_with("there is no flavor \"huge\" (there are ")
    );
    assert_eq!(said(|settings| settings.image = "none".to_owned()), "there is no image \"none\"");
    assert_eq!(said(|settings| settings.networks = vec!["none".to_owned()]), "there is no network \"none\"");
    assert_eq!(said(|settings| settings.key_pair = Some("none".to_owned())), "there is no key pair \"none\"");
    assert_eq!(
        said(|settings| settings.server_group = Some("none".to_owned())),
        "there is no server group \"none\""
    );
}

#[test]
#[ignore = "make test-openstack"]
fn a_wrong_secret_is_said_to_be_refused() {
    let mut settings = settings("secret");
    if let weir_fleet::openstack::Credentials::ApplicationCredential { secret, .. } =
        &mut settings.cloud.credentials
    {
        "wrong".clone_into(secret);
    }
    let failure = run(OpenStackProvider::new(settings).unwrap().machines()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Auth, "{failure}");
}
