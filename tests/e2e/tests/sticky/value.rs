//! Tests of the values of sticky cookies: signed and secret.

use std::fs;

use weir_e2e::Weir;
use weir_testkit::RawServer;

use crate::{ask, config, new_client, server, set, who};

fn secret(value: &str, more: &str) -> String {
    format!("sticky = {{ cookie = \"SRV\", value = \"{value}\", key-env = \"STICKY_TEST_KEY\"{more} }}")
}

/// Prefix of the server names, longer than any text that a random value contains by chance.
const LONG: &str = "storage-server-";

fn started(servers: &[&RawServer], keys: &str, secret: &str) -> Weir {
    let config = config(servers, keys).replace("name = \"w", &format!("name = \"{LONG}"));
    let launcher = Weir::launcher(&config);
    launcher.env("STICKY_TEST_KEY", secret).start()
}

#[test]
fn another_weir_with_the_same_secret_understands_the_cookie() {
    let (a, b) = (server("a", ""), server("b", ""));
    for value in ["opaque", "signed", "encrypted"] {
        let keys = secret(value, ", max-life = \"1h\"");
        let one = started(&[&a, &b], &keys, "a secret of some length");
        let two = started(&[&a, &b], &keys, "a secret of some length");
        let stranger = started(&[&a, &b], &keys, "another secret, not that");
        for _ in 0..4 {
            let (cookie, mine) = new_client(&one, "SRV");
            assert!(!cookie.contains(LONG), "{value}: {cookie}");
            assert_eq!(who(&two, &cookie), mine, "{value}");
            let answer = ask(&stranger, "/", &cookie);
            assert!(set(&answer, "SRV").is_some(), "{value}: unknown there, and set anew");
        }
    }
}

#[test]
fn a_forged_cookie_counts_as_none() {
    let (a, b) = (server("a", ""), server("b", ""));
    let weir = started(&[&a, &b], &secret("signed", ""), "a secret of some length");
    let (cookie, _) = new_client(&weir, "SRV");
    let forged = cookie.replacen("SRV=", "SRV=A", 1);
    let mut answered = Vec::new();
    for _ in 0..4 {
        let response = ask(&weir, "/", &forged);
        assert!(set(&response, "SRV").is_some(), "the client is given a true one");
        assert_eq!(response.header("x-got"), Some(""), "and no server sees the forged one");
        answered.push(response.text());
    }
    answered.sort();
    assert_eq!(answered, ["a", "a", "b", "b"], "balanced as new clients are");
}

#[test]
fn a_secret_that_is_missing_or_too_short_is_told_before_the_start() {
    let a = server("a", "");
    let directory = weir_testkit::TempDir::new().unwrap();
    let key = directory.path().join("sticky.key");
    let keys =
        format!("sticky = {{ cookie = \"SRV\", value = \"signed\", key-file = \"{}\" }}", key.display());
    let path = directory.path().join("weir.toml");
    fs::write(&path, config(&[&a], &keys)).unwrap();
    let check = || {
        let output =
            std::process::Command::new(weir_e2e::program()).args(["check"]).arg(&path).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (code, said) = check();
    assert!(code == Some(1) && said.contains("sticky.key-file") && said.contains("No such file"), "{said}");
    fs::write(&key, "short\n").unwrap();
    let (code, said) = check();
    assert!(code == Some(1) && said.contains("at least 16 bytes, this one has 5"), "{said}");
    fs::write(&key, "0123456789abcdef\n").unwrap();
    assert_eq!(check().0, Some(0));
}

#[test]
fn a_secret_that_changed_is_read_at_a_reload() {
    let (a, b) = (server("a", ""), server("b", ""));
    let directory = weir_testkit::TempDir::new().unwrap();
    let key = directory.path().join("sticky.key");
    fs::write(&key, "0123456789abcdef").unwrap();
    let keys = format!("sticky = {{ cookie = \"SRV\", key-file = \"{}\" }}", key.display());
    let text = config(&[&a, &b], &keys);
    let mut weir = Weir::start(&text);
    let (cookie, mine) = new_client(&weir, "SRV");
    weir.reload(&text);
    assert_eq!(who(&weir, &cookie), mine);
    assert_eq!(ask(&weir, "/", &cookie).header("set-cookie"), None, "the same secret");
    fs::write(&key, "fedcba9876543210").unwrap();
    weir.reload(&text);
    assert!(
        ask(&weir, "/", &cookie).header("set-cookie").is_some(),
        "another secret: nobody knows the value"
    );
}
