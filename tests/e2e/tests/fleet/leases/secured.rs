//! Tests of lease stores with TLS and a password.

use std::fs;
use std::process::{Command, Output};

use weir_e2e::{Weir, program};
use weir_testkit::certificates::{Authority, Request};
use weir_testkit::{PATIENCE, wait_until};

use super::cloud::Cloud;
use super::store::{Kind, Store};
use crate::place::has_settled_at;

const ONE: &str = "min = 1\n";
/// The permissions of a Redis user according to the guide.
const COMMANDS: &str = "+info +eval +get +set +pexpire +del +incr";

/// Starts a store of this kind with TLS. A Redis also gets a user with a password.
fn secured(cloud: &Cloud, kind: Kind) -> Store {
    let authority = Authority::new("stores");
    let directory = cloud.place().path("cloud");
    let files = authority.issue(&Request::names(&["127.0.0.1"])).write_to(&directory, "store");
    fs::write(directory.join("ca.pem"), authority.pem()).unwrap();
    fs::write(directory.join("password"), "a-secret\n").unwrap();
    let (certificate, key) = (files.certificate.display(), files.key.display());
    let more = match kind {
        Kind::Redis => format!(
            "--port 0 --tls-port PORT --tls-cert-file {certificate} --tls-key-file {key} --tls-auth-clients no \
             --user default off --user weir on >a-secret ~weir/fleet/* {COMMANDS}"
        )
        .split_whitespace()
        .map(str::to_owned)
        .collect(),
        Kind::Etcd => vec![format!("--cert-file={certificate}"), format!("--key-file={key}")],
    };
    Store::start(kind, cloud.place().path("store"), &more)
}

fn keys(cloud: &Cloud) -> String {
    let directory = cloud.place().path("cloud");
    format!(
        ", username = \"weir\", password-file = {:?}, tls = {{ ca = {:?} }}",
        directory.join("password"),
        directory.join("ca.pem")
    )
}

fn checked(cloud: &Cloud, config: &str) -> Output {
    let path = cloud.place().path("weir.toml");
    fs::write(&path, config).unwrap();
    Command::new(program()).args(["check", "--online"]).arg(path).output().unwrap()
}

/// Checks that Weir leads with the right password, and that `weir check --online` reports a wrong one without
/// printing it.
fn leads_with_the_password_and_not_without(cloud: &Cloud, lease: &str, why: &str) {
    let config = cloud.config("first", lease, ONE);
    let output = checked(cloud, &config);
    assert!(output.status.success(), "{output:?}");
    let weir = Weir::start(&config);
    wait_until("it leads", PATIENCE, || has_settled_at(&weir, 1));
    fs::write(cloud.place().path("cloud/password"), "not the secret\n").unwrap();
    let output = checked(cloud, &config);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(1) && said.contains("fleet web: lease: ") && said.contains(why),
        "{said}"
    );
    assert!(!said.contains("not the secret"), "{said}");
    // A server with a certificate of another authority is refused.
    let other = cloud.place().path("cloud/other.pem");
    fs::write(&other, Authority::new("others").pem()).unwrap();
    let output = checked(cloud, &config.replace("/ca.pem", "/other.pem"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("TLS: "), "{output:?}");
}

#[test]
fn a_redis_is_reached_over_tls_with_a_name_and_a_password() {
    let cloud = Cloud::new();
    let store = secured(&cloud, Kind::Redis);
    leads_with_the_password_and_not_without(&cloud, &store.lease(&keys(&cloud)), "WRONGPASS");
}

#[test]
fn an_etcd_is_reached_over_tls_with_a_name_and_a_password() {
    let cloud = Cloud::new();
    let store = secured(&cloud, Kind::Etcd);
    let post = |path: &str, body: &str| {
        let mut curl = Command::new("curl");
        curl.args([
            "--silent",
            "--show-error",
            "--fail",
            "--retry",
            "30",
            "--retry-delay",
            "1",
            "--retry-all-errors",
        ]);
        curl.arg("--cacert").arg(cloud.place().path("cloud/ca.pem"));
        let output =
            curl.args(["--data", body, &format!("https://{}{path}", store.address())]).output().unwrap();
        assert!(output.status.success(), "{path}: {output:?}");
    };
    // The range from "weir/fleet/" to the next key after that prefix, in base64.
    let range = r#"{"name": "weir", "perm": {"permType": "READWRITE", "key": "d2Vpci9mbGVldC8=", "range_end": "d2Vpci9mbGVldDA="}}"#;
    post("/v3/auth/user/add", r#"{"name": "root", "password": "root"}"#);
    post("/v3/auth/role/add", r#"{"name": "root"}"#);
    post("/v3/auth/user/grant", r#"{"user": "root", "role": "root"}"#);
    post("/v3/auth/user/add", r#"{"name": "weir", "password": "a-secret"}"#);
    post("/v3/auth/role/add", r#"{"name": "weir"}"#);
    post("/v3/auth/role/grant", range);
    post("/v3/auth/user/grant", r#"{"user": "weir", "role": "weir"}"#);
    post("/v3/auth/enable", "{}");
    // The hash of a password in etcd may take longer than an eighth of the usual lease duration.
    let lease = store.lease(&keys(&cloud)).replace("\"4s\"", "\"30s\"");
    leads_with_the_password_and_not_without(&cloud, &lease, "invalid user ID or password");
}

/// Starts a Redis without TLS with these arguments.
fn plain(cloud: &Cloud, arguments: &[&str]) -> Store {
    let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    Store::start(Kind::Redis, cloud.place().path("store"), &arguments)
}

#[test]
fn that_a_redis_wants_another_password_or_knows_none_is_said_without_the_password() {
    for (arguments, is_given, why) in [
        (&["--requirepass", "a-secret"][..], true, None),
        (&["--requirepass", "a-secret"], false, Some("NOAUTH")),
        (&["--requirepass", "another"], true, Some("AUTH: WRONGPASS")),
        // The user could assume that such a Redis is protected.
        (&[], true, Some("without any password configured")),
        // Such a Redis repeats the arguments of the command in its error.
        (&["--rename-command", "AUTH", ""], true, Some("AUTH: unknown command")),
    ] {
        let cloud = Cloud::new();
        let store = plain(&cloud, arguments);
        let password = cloud.place().path("cloud/password");
        fs::write(&password, "a-secret\n").unwrap();
        let more = if is_given { format!(", password-file = {password:?}") } else { String::new() };
        // Only the check uses this lease; a long duration helps on a busy machine.
        let lease = store.lease(&more).replace("\"4s\"", "\"60s\"");
        let output = checked(&cloud, &cloud.config("first", &lease, ONE));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), why.is_none(), "{arguments:?}: {said}");
        assert!(why.is_none_or(|why| said.contains("fleet web: lease: ") && said.contains(why)), "{said}");
        assert!(!said.contains("a-secret"), "{said}");
    }
}

#[test]
fn with_a_password_that_a_redis_does_not_know_nobody_leads_until_it_is_put_right() {
    let cloud = Cloud::new();
    let store = plain(&cloud, &["--requirepass", "a-secret"]);
    let password = cloud.place().path("cloud/password");
    fs::write(&password, "not the secret\n").unwrap();
    let lease = store.lease(&format!(", password-file = {password:?}"));
    let mut weir = Weir::start(&cloud.config("first", &lease, ONE));
    let told = weir.wait_for_log("alarm: not led from here");
    assert!(told.contains("AUTH: WRONGPASS") && !told.contains("not the secret"), "{told}");
    assert_eq!(cloud.ordered(), 0);
    fs::write(&password, "a-secret\n").unwrap();
    wait_until("it leads", PATIENCE, || has_settled_at(&weir, 1));
}
