//! Tests the checks of access to the admin listener, and of the user of the process.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use weir_testkit::certificates::{Authority, Request};

use crate::{GOOD, check, directory, err};

#[test]
fn an_admin_face_that_strangers_can_read_is_warned_of() {
    let directory = directory();
    let said = |admin: &str| {
        let output = check(directory.path(), &format!("[admin]\nbind = \"0.0.0.0:0\"\n{admin}\n{GOOD}"), &[]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        err(&output)
    };
    let users = directory.path().join("users");
    fs::write(&users, "ada:$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW\n").unwrap();
    fs::set_permissions(&users, fs::Permissions::from_mode(0o600)).unwrap();
    let authority = Authority::new("test authority");
    let files = authority.issue(&Request::names(&["localhost"])).write_to(directory.path(), "admin");
    fs::set_permissions(&files.key, fs::Permissions::from_mode(0o600)).unwrap();
    let tls =
        format!("tls.certificates = {{ certificate = {:?}, key = {:?} }}", files.certificate, files.key);
    assert!(
        said("").contains("admin: 0.0.0.0:0: everyone who reaches this address can read the status page")
    );
    assert!(said(&tls).contains("everyone who reaches this address"));
    assert!(said("htpasswd = \"users\"").contains("passwords cross the network in plaintext"));
    assert_eq!(said("allow = \"10.0.0.0/8\""), "");
    assert_eq!(said(&format!("htpasswd = \"users\"\n{tls}")), "");
    fs::write(&users, "nothing\n").unwrap();
    let output = check(directory.path(), &format!("[admin]\nhtpasswd = \"users\"\n{GOOD}"), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("admin: htpasswd: users: "), "{}", err(&output));
}

#[test]
fn what_does_not_go_with_the_user_or_the_sandbox_is_told() {
    let directory = directory();
    let file = |name: &str, mode| {
        let path = directory.path().join(name);
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let users = file("users.toml", 0o644);
    let with = |process: &str, rest: &str| {
        let config = format!("[weir]\ncontrol = false\nstate = false\n{process}\n{GOOD}{rest}");
        let output = check(directory.path(), &config, &[]);
        (output.status.code(), err(&output))
    };
    let area =
        format!("[storage-area.data]\nroot = {:?}\nact-as = {{ map = {users:?} }}\n", directory.path());
    fs::write(&users, "[[map]]\nprincipal = { type = \"anyone\" }\nuser = \"61001:61001\"\n").unwrap();
    let (code, text) = with("user = \"61001:61002\"", &area);
    assert!(code == Some(1) && text.contains("act-as: 61001:61001 is the user of Weir itself"), "{text}");
    fs::write(&users, "[[map]]\nprincipal = { type = \"anyone\" }\nuser = \"61001:61001,0\"\n").unwrap();
    let (code, text) = with("user = \"65534:65534\"", &area);
    assert!(code == Some(1) && text.contains("act-as: 61001:61001,0 has root's group (0)"), "{text}");
    for (ids, message) in [
        ("\"x\"", "is neither a number nor two"),
        ("\"0-5\"", "0 is root"),
        ("\"9-5\"", "the first number is above the last"),
        ("\"5-4294967295\"", "is no user or group"),
    ] {
        let (code, text) = with(&format!("user = \"65534:65534\"\nact-as-ids = {ids}"), "");
        assert!(code == Some(1) && text.contains(message), "{text}");
    }
    let (code, text) = with("act-as-ids = \"5\"", "");
    assert!(code == Some(1) && text.contains("weir.act-as-ids: only together with user"), "{text}");
    let fleet = "[fleet.web]\npool = \"web\"\nmax = 2\ncapacity = 10\nprocess = { command = \"app\" }\n";
    let (code, text) = with("sandbox = true", fleet);
    assert!(
        code == Some(1) && text.contains("fleet web starts programs, which the sandbox forbids"),
        "{text}"
    );
    let (code, text) = with("group = \"users\"", "");
    assert!(code == Some(1) && text.contains("weir.group: only together with user"), "{text}");
    let (code, text) = with("user = \"root\"", "");
    assert!(code == Some(1) && text.contains("weir.user: \"root\" is root"), "{text}");
    let log = format!("[access-log]\nto = {:?}\n", directory.path().join("access.log"));
    let (code, text) = with("user = \"65534:65534\"", &log);
    assert!(code == Some(0) && text.contains("access-log.to: user 65534:65534 cannot write to "), "{text}");
}
