//! Tests of the OpenStack provider with a fake cloud.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use weir_config::plan::{TlsOut, TlsVersion};
use weir_fleet::openstack::{
    ApplicationCredential, Cloud, Credentials, Domain, OpenStackProvider, OpenStackSettings, Park, Project,
    User,
};
use weir_fleet::{FailureKind, MachineId, MachineState, Order, Provider};
use weir_testkit::TempDir;
use weir_testkit::certificates::{Authority, Request};

use crate::fake_cloud::{FakeCloud, Fault, error, server};
use crate::tools::{run, token};

fn cloud(fake: &FakeCloud) -> Cloud {
    Cloud {
        name: "test".to_owned(),
        auth_url: format!("http://{}/v3/", fake.address),
        credentials: Credentials::ApplicationCredential {
            credential: ApplicationCredential::Id("abc".to_owned()),
            secret: "secret".to_owned(),
        },
        region: Some("North".to_owned()),
        interface: "public".to_owned(),
        tls: TlsOut {
            verify: true,
            ca: None,
            server_name: None,
            client_certificate: None,
            version_min: TlsVersion::V1_2,
        },
        overrides: Default::default(),
    }
}

pub(crate) fn settings(fake: &FakeCloud) -> OpenStackSettings {
    let mut settings = OpenStackSettings::new("web", cloud(fake), "img", "small");
    settings.networks = vec!["net".to_owned()];
    settings
}

pub(crate) fn provider(fake: &FakeCloud) -> OpenStackProvider {
    OpenStackProvider::new(settings(fake)).unwrap()
}

fn id(text: &str) -> MachineId {
    MachineId(text.to_owned())
}

const FRESH: bool = false;

fn create(provider: &OpenStackProvider, name: &str, again: bool) -> Result<MachineId, weir_fleet::Failure> {
    run(provider.create(Order { token: &token(name), again })).map(|machine| machine.id)
}

#[test]
fn a_server_is_made_of_all_that_is_configured() {
    let fake = FakeCloud::start();
    let mut settings = settings(&fake);
    settings.key_pair = Some("ops".to_owned());
    settings.user_data = Some("#cloud-config\nhostname: {machine}\n".to_owned());
    settings.metadata.insert("owner".to_owned(), "ops".to_owned());
    settings.metadata.insert("weir.fleet".to_owned(), "somebody else's".to_owned());
    settings.tags = vec!["blue".to_owned()];
    settings.server_group = Some("spread".to_owned());
    settings.security_groups = vec!["http".to_owned()];
    settings.availability_zone = Some("az1".to_owned());
    settings.config_drive = true;
    let provider = OpenStackProvider::new(settings).unwrap();
    run(provider.verify()).unwrap();
    create(&provider, "web-1", FRESH).unwrap();
    let state = fake.state();
    let (_, _, body) = state.requests.iter().rfind(|(method, _, _)| method == "POST").unwrap();
    let expected = json!({
        "server": {
            "name": "web-1", "imageRef": "image-1", "flavorRef": "f1", "networks": [{ "uuid": "network-1" }],
            "metadata": { "owner": "ops", "weir.fleet": "web", "weir.token": "web-1" },
            "tags": ["weir-fleet-web", "blue"], "key_name": "ops",
            "user_data": "I2Nsb3VkLWNvbmZpZwpob3N0bmFtZTogd2ViLTEK",
            "security_groups": [{ "name": "http" }], "availability_zone": "az1", "config_drive": true,
        },
        "os:scheduler_hints": { "group": "spread-id" },
    });
    assert_eq!(*body, expected);
}

#[test]
fn a_flavor_that_is_given_by_its_id_is_told_by_its_name_and_is_no_other_one() {
    let fake = FakeCloud::start();
    let settings = OpenStackSettings { flavor: "f1".to_owned(), ..settings(&fake) };
    let provider = OpenStackProvider::new(settings.clone()).unwrap();
    let made = run(provider.create(Order { token: &token("web-1"), again: FRESH })).unwrap();
    assert_eq!(made.flavour.as_deref(), Some("small"));
    let with = |other: &str| {
        let settings = OpenStackSettings { other_flavors: vec![other.to_owned()], ..settings.clone() };
        run(OpenStackProvider::new(settings).unwrap().verify())
    };
    with("large").unwrap();
    let failure = with("small").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Permanent);
    assert!(
        failure.to_string().contains("flavor \"f1\" is \"small\", of which flavours tells, too"),
        "{failure}"
    );
}

#[test]
fn machines_are_told_with_state_address_and_reason() {
    let fake = FakeCloud::start();
    let states = [
        ("ACTIVE", json!(null), MachineState::Running),
        ("MIGRATING", json!("migrating"), MachineState::Running),
        ("HARD_REBOOT", json!("rebooting_hard"), MachineState::Building),
        ("ACTIVE", json!("powering-off"), MachineState::Stopping),
        ("ACTIVE", json!("deleting"), MachineState::Deleting),
        ("SHUTOFF", json!(null), MachineState::Stopped),
        ("SHUTOFF", json!("powering-on"), MachineState::Building),
        ("SHELVED_OFFLOADED", json!(null), MachineState::Stopped),
        ("ERROR", json!(null), MachineState::Failed),
        ("RESCUE", json!(null), MachineState::Unknown),
        ("SOFT_DELETED", json!(null), MachineState::Deleting),
    ];
    for (at, (status, task, _)) in states.iter().enumerate() {
        let mut made = server(&format!("s{at}"), "web", status);
        made["OS-EXT-STS:task_state"] = task.clone();
        if *status == "ERROR" {
            made["fault"] = json!({ "code": 500, "message": "No valid host was found." });
        }
        fake.state().servers.push(made);
    }
    let machines = run(provider(&fake).machines()).unwrap();
    let told: Vec<_> = machines.iter().map(|machine| machine.state).collect();
    assert_eq!(told, states.map(|(_, _, state)| state));
    assert_eq!(machines[0].ip, Some("10.0.0.5".parse::<IpAddr>().unwrap()));
    assert_eq!(machines[0].created_s, Some(1_767_225_600));
    assert_eq!(machines[0].flavour.as_deref(), Some("small"));
    assert_eq!(machines[8].note.as_deref(), Some("No valid host was found."));
}

#[test]
fn the_address_is_the_one_that_is_asked_for() {
    let fake = FakeCloud::start();
    let mut made = server("s", "web", "ACTIVE");
    made["addresses"] = json!({
        "back": [{ "addr": "fd00::1", "version": 6, "OS-EXT-IPS:type": "fixed" },
                 { "addr": "10.0.0.1", "version": 4, "OS-EXT-IPS:type": "fixed" },
                 { "addr": "203.0.113.1", "version": 4, "OS-EXT-IPS:type": "floating" }],
        "front": [{ "addr": "10.1.0.1", "version": 4, "OS-EXT-IPS:type": "fixed" }],
    });
    fake.state().servers.push(made);
    for (network, version, floating, expected) in [
        (None, None, false, Some("10.0.0.1")),
        (Some("front"), None, false, Some("10.1.0.1")),
        (Some("back"), Some(6), false, Some("fd00::1")),
        (None, None, true, Some("203.0.113.1")),
        (Some("front"), None, true, None),
    ] {
        let mut settings = settings(&fake);
        settings.address.network = network.map(str::to_owned);
        settings.address.version = version;
        settings.address.floating = floating;
        let provider = OpenStackProvider::new(settings).unwrap();
        let ip = run(provider.machines()).unwrap()[0].ip;
        assert_eq!(ip, expected.map(|ip| ip.parse::<IpAddr>().unwrap()));
    }
}

#[test]
fn a_server_that_builds_for_too_long_has_failed() {
    let fake = FakeCloud::start();
    fake.state().servers.push(server("slow", "web", "BUILD"));
    let mut new = server("new", "web", "BUILD");
    new["created"] = json!("2999-01-01T00:00:00Z");
    fake.state().servers.push(new);
    let machines = run(provider(&fake).machines()).unwrap();
    assert_eq!(machines[0].state, MachineState::Failed);
    assert!(machines[0].note.as_ref().unwrap().starts_with("has been building for "));
    assert_eq!(machines[1].state, MachineState::Building);
}

#[test]
fn what_is_not_ours_is_neither_listed_nor_touched() {
    let fake = FakeCloud::start();
    // The tag alone does not make the server part of the fleet.
    let mut tagged = server("tagged", "other", "ACTIVE");
    tagged["tags"] = json!(["weir-fleet-web"]);
    fake.state().servers.extend([
        server("others", "other", "ACTIVE"),
        tagged,
        server("ours", "web", "ACTIVE"),
    ]);
    let provider = provider(&fake);
    let machines = run(provider.machines()).unwrap();
    assert_eq!(machines.iter().map(|machine| machine.id.as_str()).collect::<Vec<_>>(), ["ours"]);
    for stranger in ["others", "tagged"] {
        let stranger = id(stranger);
        for refused in
            [run(provider.delete(&stranger)), run(provider.stop(&stranger)), run(provider.start(&stranger))]
        {
            let failure = refused.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Permanent);
            assert!(failure.message.ends_with("is not of fleet web: left alone"), "{failure}");
        }
    }
    assert_eq!(fake.count("DELETE") + fake.count("POST"), 0);
}

#[test]
fn a_list_is_read_page_by_page() {
    let fake = FakeCloud::start();
    fake.state().page = 3;
    fake.state().servers.extend((0..8).map(|at| server(&format!("s{at}"), "web", "ACTIVE")));
    let provider = provider(&fake);
    assert_eq!(run(provider.machines()).unwrap().len(), 8);
    assert_eq!(fake.count("GET /compute/v2.1/servers/detail"), 3);
    // A failed page must not shorten the list.
    fake.fail("GET", "/compute/v2.1/servers/detail?tags=weir-fleet-web&marker=s5", Fault::Ignore);
    assert_eq!(run(provider.machines()).unwrap_err().kind, FailureKind::Transient);
}

#[test]
fn actions_that_are_done_already_are_done() {
    let fake = FakeCloud::start();
    fake.state().servers.push(server("s", "web", "ACTIVE"));
    let provider = provider(&fake);
    let s = id("s");
    run(provider.stop(&s)).unwrap();
    run(provider.stop(&s)).unwrap();
    assert_eq!(fake.state().servers[0]["status"], "SHUTOFF");
    run(provider.start(&s)).unwrap();
    run(provider.start(&s)).unwrap();
    assert_eq!(fake.state().servers[0]["status"], "ACTIVE");
    assert_eq!(fake.count("POST"), 2);
    run(provider.delete(&s)).unwrap();
    run(provider.delete(&s)).unwrap();
    assert_eq!(fake.count("DELETE"), 1);
    assert_eq!(run(provider.start(&s)).unwrap_err().kind, FailureKind::NotFound);
}

#[test]
fn what_is_to_be_shelved_is_shelved_and_comes_back() {
    let fake = FakeCloud::start();
    fake.state().servers.push(server("s", "web", "ACTIVE"));
    let mut settings = settings(&fake);
    settings.park = Park::Shelve;
    let provider = OpenStackProvider::new(settings).unwrap();
    run(provider.stop(&id("s"))).unwrap();
    assert_eq!(fake.state().servers[0]["status"], "SHELVED_OFFLOADED");
    run(provider.start(&id("s"))).unwrap();
    assert_eq!(fake.state().servers[0]["status"], "ACTIVE");
}

#[test]
fn a_conflict_is_one_only_if_the_server_is_not_as_wanted() {
    let fake = FakeCloud::start();
    fake.state().servers.extend([server("building", "web", "BUILD"), server("active", "web", "ACTIVE")]);
    let provider = provider(&fake);
    assert_eq!(run(provider.stop(&id("building"))).unwrap_err().kind, FailureKind::Conflict);
    let conflict = Fault::Answer(409, "", error("Cannot 'stop' instance: task_state powering-off"));
    fake.fail("POST", "/compute/v2.1/servers/active", conflict);
    assert_eq!(run(provider.stop(&id("active"))).unwrap_err().kind, FailureKind::Conflict);
}

#[test]
fn a_token_that_is_not_taken_any_more_is_renewed_once_for_all() {
    let fake = FakeCloud::start();
    let provider = provider(&fake);
    run(provider.verify()).unwrap();
    assert_eq!(fake.state().logins, 1);
    fake.state().tokens.clear();
    run(async {
        let names: Vec<_> = (0..4).map(|at| token(&format!("web-{at}"))).collect();
        let order = |at: usize| Order { token: &names[at], again: false };
        let (a, b, c, d) = tokio::join!(
            provider.create(order(0)),
            provider.create(order(1)),
            provider.create(order(2)),
            provider.create(order(3))
        );
        assert!([a, b, c, d].iter().all(Result::is_ok));
    });
    let state = fake.state();
    assert_eq!((state.logins, state.servers.len()), (2, 4));
}

#[test]
fn a_token_is_renewed_before_it_ends() {
    let fake = FakeCloud::start();
    fake.state().expires_at = "2020-01-01T00:00:00Z".to_owned();
    let provider = provider(&fake);
    run(provider.machines()).unwrap();
    run(provider.machines()).unwrap();
    assert_eq!(fake.state().logins, 2);
    assert_eq!(fake.count("GET"), 2, "nothing was asked with an ended token");
}

#[test]
fn credentials_that_are_refused_are_said_to_be() {
    let fake = FakeCloud::start();
    let mut settings = settings(&fake);
    settings.cloud.credentials = Credentials::Password {
        user: User::Name("alice".to_owned(), Domain::Id("default".to_owned())),
        password: "hush-hush".to_owned(),
        project: Project::Name("web".to_owned(), Domain::Id("default".to_owned())),
    };
    let mut good = settings.clone();
    let failure = run(OpenStackProvider::new(settings).unwrap().machines()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Auth);
    assert!(
        failure.message.contains("requires authentication") && !failure.message.contains("hush"),
        "{failure}"
    );
    if let Credentials::Password { password, .. } = &mut good.cloud.credentials {
        "secret".clone_into(password);
    }
    run(OpenStackProvider::new(good).unwrap().machines()).unwrap();
}

#[test]
fn refusals_are_told_apart() {
    let cases = [
        (
            403,
            "",
            "Quota exceeded for instances: Requested 1, but already used 13 of 13 instances",
            FailureKind::Quota,
        ),
        (403, "", "Policy doesn't allow os_compute_api:servers:create to be performed.", FailureKind::Auth),
        (409, "", "Quota exceeded for resources: ['port'].", FailureKind::Quota),
        (
            409,
            "",
            "Multiple possible networks found, use a Network ID to be more specific.",
            FailureKind::Conflict,
        ),
        (400, "", "Can not find requested image", FailureKind::Permanent),
        (429, "retry-after: 17\r\n", "slow down", FailureKind::Transient),
        (503, "", "down for maintenance", FailureKind::Transient),
        (500, "", "Unexpected API Error.", FailureKind::Uncertain),
        (504, "", "the proxy gave up", FailureKind::Uncertain),
        (301, "", "moved", FailureKind::Permanent),
    ];
    for (status, headers, message, kind) in cases {
        let fake = FakeCloud::start();
        let provider = provider(&fake);
        fake.fail("POST", "/compute/v2.1/servers", Fault::Answer(status, headers, error(message)));
        let failure = create(&provider, "web-1", FRESH).unwrap_err();
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.message.contains(message), "{failure}");
        assert_eq!(failure.retry_after, (status == 429).then(|| Duration::from_secs(17)));
        // A failure does not affect later requests.
        create(&provider, "web-2", FRESH).unwrap();
    }
}

#[test]
fn a_creation_without_an_answer_is_found_when_it_is_tried_again() {
    let fake = FakeCloud::start();
    let provider = provider(&fake);
    fake.fail("POST", "/compute/v2.1/servers", Fault::DoSilently);
    assert_eq!(create(&provider, "web-1", FRESH).unwrap_err().kind, FailureKind::Uncertain);
    assert_eq!(create(&provider, "web-1", true).unwrap(), id("server-1"));
    assert_eq!(fake.state().servers.len(), 1);

    fake.fail("POST", "/compute/v2.1/servers", Fault::Ignore);
    assert_eq!(create(&provider, "web-2", FRESH).unwrap_err().kind, FailureKind::Uncertain);
    assert_eq!(create(&provider, "web-2", true).unwrap(), id("server-2"));
    assert_eq!(fake.state().servers.len(), 2);
    assert!(provider.settling() > Duration::ZERO);
}

#[test]
fn a_cloud_that_is_down_fails_without_a_doubt() {
    let port = weir_testkit::RefusingPort::new();
    let fake = FakeCloud::start();
    let mut settings = settings(&fake);
    settings.cloud.auth_url = format!("http://{}", port.addr());
    let failure = run(OpenStackProvider::new(settings).unwrap().machines()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Transient);
    assert!(
        failure.message.contains("/v3/auth/tokens: ") && failure.message.contains("refused"),
        "{failure}"
    );
}

#[test]
fn a_cloud_behind_https_must_prove_who_it_is() {
    let directory = TempDir::new().unwrap();
    let authority = Authority::new("cloud authority");
    let issued = authority.issue(&Request::names(&["127.0.0.1"]));
    let files = issued.write_to(directory.path(), "keystone");
    let chain = CertificateDer::pem_file_iter(&files.certificate).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(&files.key).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = builder.with_no_client_auth().with_single_cert(chain, key).unwrap();
    let fake = FakeCloud::start_with(Some(Arc::new(config)));
    let ca = directory.path().join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();

    let mut settings = settings(&fake);
    settings.cloud.auth_url = format!("https://{}", fake.address);
    let unknown = run(OpenStackProvider::new(settings.clone()).unwrap().machines()).unwrap_err();
    assert!(unknown.message.contains("TLS: "), "{unknown}");
    assert_eq!(fake.state().logins, 0);
    settings.cloud.tls.ca = Some(ca);
    let provider = OpenStackProvider::new(settings).unwrap();
    create(&provider, "web-1", FRESH).unwrap();
    assert_eq!(run(provider.machines()).unwrap().len(), 1);
}
