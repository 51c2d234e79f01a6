//! Tests of the search for clouds.

use std::collections::HashMap;
use std::path::Path;

use weir_fleet::openstack::{ApplicationCredential, Cloud, Credentials, Domain, Project, Surroundings, User};
use weir_testkit::TempDir;

const CLOUDS: &str = "
clouds:
  home: &base
    auth:
      auth_url: https://keystone.example/v3
      username: alice
      password: 12345
      project_name: web
      user_domain_name: Users
      project_domain_id: default
    region_name: North
    interface: internal
    cacert: /etc/ssl/cloud.pem
  away:
    <<: *base
    region_name: South
    auth_type: v3applicationcredential
    auth:
      auth_url: https://keystone.example
      application_credential_id: abc
    compute_endpoint_override: http://nova.example:8774/v2.1/
";

fn find(directory: &Path, variables: &[(&str, &str)], name: Option<&str>) -> Result<Cloud, String> {
    let variables: HashMap<_, _> = variables.iter().map(|&(name, value)| (name, value.to_owned())).collect();
    let variable = move |name: &str| variables.get(name).cloned();
    Surroundings { variable: &variable, directories: vec![directory.to_owned()] }.cloud(name)
}

fn with(clouds: &str) -> TempDir {
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("clouds.yaml"), clouds).unwrap();
    directory
}

#[test]
fn a_cloud_is_read_with_all_that_it_says() {
    let directory = with(CLOUDS);
    let cloud = find(directory.path(), &[], Some("home")).unwrap();
    assert_eq!(cloud.auth_url, "https://keystone.example/v3");
    assert_eq!((cloud.region.as_deref(), cloud.interface.as_str()), (Some("North"), "internal"));
    assert_eq!(cloud.tls.ca.as_deref(), Some(Path::new("/etc/ssl/cloud.pem")));
    assert!(cloud.tls.verify);
    let Credentials::Password { user, password, project } = cloud.credentials else { panic!("a password") };
    assert_eq!(user, User::Name("alice".to_owned(), Domain::Name("Users".to_owned())));
    assert_eq!(password, "12345", "a password stays as it is written");
    assert_eq!(project, Project::Name("web".to_owned(), Domain::Id("default".to_owned())));
}

#[test]
fn secrets_may_be_in_a_file_of_their_own() {
    let directory = with(CLOUDS);
    let secure = "clouds: {away: {auth: {application_credential_secret: hush}}}";
    std::fs::write(directory.path().join("secure.yaml"), secure).unwrap();
    let cloud = find(directory.path(), &[("OS_CLOUD", "away")], None).unwrap();
    assert_eq!(cloud.region.as_deref(), Some("South"));
    assert_eq!(cloud.overrides["compute"], "http://nova.example:8774/v2.1/");
    assert!(!format!("{cloud:?}").contains("hush"));
    let Credentials::ApplicationCredential { credential, secret } = cloud.credentials else {
        panic!("an application credential")
    };
    assert_eq!((credential, secret.as_str()), (ApplicationCredential::Id("abc".to_owned()), "hush"));
}

#[test]
fn the_environment_is_enough() {
    let directory = TempDir::new().unwrap();
    let variables = [
        ("OS_AUTH_URL", "http://keystone.example:5000"),
        ("OS_USERNAME", "alice"),
        ("OS_PASSWORD", "secret"),
        ("OS_PROJECT_ID", "0123"),
        ("OS_USER_DOMAIN_NAME", "Default"),
        ("OS_REGION_NAME", "North"),
        ("OS_INTERFACE", "publicURL"),
        ("OS_INSECURE", "true"),
    ];
    let cloud = find(directory.path(), &variables, None).unwrap();
    assert_eq!((cloud.name.as_str(), cloud.interface.as_str()), ("envvars", "public"));
    assert!(!cloud.tls.verify);
    let Credentials::Password { project, .. } = cloud.credentials else { panic!("a password") };
    assert_eq!(project, Project::Id("0123".to_owned()));
}

#[test]
fn what_is_missing_or_not_understood_is_named_with_its_place() {
    let directory = with(CLOUDS);
    let place = directory.path().join("clouds.yaml");
    let error = |name| find(directory.path(), &[], name).unwrap_err();
    assert_eq!(error(None), format!("{}: which cloud? one of away, home", place.display()));
    assert_eq!(error(Some("moon")), format!("{}: no cloud \"moon\": one of away, home", place.display()));
    assert_eq!(
        error(Some("away")),
        format!("{}, cloud away: application_credential_secret is not set", place.display())
    );
    for (text, said) in [
        ("clouds: {a: {auth: {auth_url: u}, auth_type: v3kerberos}}", "auth_type: \"v3kerberos\""),
        ("clouds: {a: {auth: {auth_url: u}, profile: rackspace}}", "vendor profiles are not read"),
        ("clouds: {a: {auth: {auth_url: u}, identity_api_version: 2}}", "only 3 is spoken"),
        ("clouds: {a: {auth: {auth_url: u}, interface: secret}}", "interface: \"secret\" is none of"),
        ("clouds: {a: {auth: {auth_url: u}, verify: perhaps}}", "verify: \"perhaps\" is neither"),
        (
            "clouds: {a: {auth: {auth_url: u, username: a, password: b}}}",
            "neither project_id nor project_name",
        ),
        ("clouds: {a: {auth: {}}}", "auth_url is not set"),
        ("clouds: {a: [}", "line 1: "),
        ("hello", "has no \"clouds\""),
    ] {
        let error = find(with(text).path(), &[], Some("a")).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
    let nothing = TempDir::new().unwrap();
    assert!(find(nothing.path(), &[], None).unwrap_err().starts_with("no clouds.yaml in "));
}

#[test]
fn a_file_that_grows_without_end_is_refused() {
    let mut flood = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
    for level in 1..9 {
        let before = vec![format!("*a{}", level - 1); 10].join(",");
        flood.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    assert!(find(with(&flood).path(), &[], None).unwrap_err().contains("more than"));
    let deep = "[".repeat(1000);
    assert!(find(with(&deep).path(), &[], None).is_err());
}
