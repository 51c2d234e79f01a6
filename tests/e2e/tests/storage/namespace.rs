//! Tests of areas that act as local users, with a Weir that changes its own user. They need root.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use weir_e2e::Weir;

use crate::acting::{ADA, LAB, Lab, OTHERS, WEIR, own_user};

/// Returns the values of a line of `/proc/PID/status`, over all threads.
fn of_threads(weir: &Weir, name: &str) -> BTreeSet<String> {
    let threads = fs::read_dir(format!("/proc/{}/task", weir.pid())).unwrap();
    let value = |thread: PathBuf| {
        let status = fs::read_to_string(thread.join("status")).unwrap();
        status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(|it| it.trim().to_owned()))
    };
    threads.map(|thread| value(thread.unwrap().path()).unwrap()).collect()
}

#[test]
fn with_a_user_of_its_own_it_can_become_the_users_of_the_map_and_has_no_rights_of_root() {
    if !rustix::process::geteuid().is_root() {
        return weir_testkit::untested("needs root");
    }
    let lab = Lab::start(WEIR, "");
    let map = |name: &str| {
        let text = fs::read_to_string(format!("/proc/{}/{name}", lab.site.weir.pid())).unwrap();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(map("uid_map"), format!("0 {WEIR} 1 {ADA} {ADA} 2 {OTHERS} {OTHERS} 1"));
    assert_eq!(map("gid_map"), format!("{ADA} {ADA} 2 {LAB} {LAB} 1 {WEIR} {WEIR} 1 {OTHERS} {OTHERS} 1"));
    let ids = of_threads(&lab.site.weir, "Uid");
    assert_eq!(ids, BTreeSet::from([format!("{WEIR}\t{WEIR}\t{WEIR}\t{WEIR}")]));
    // CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, SETGID and SETUID, which are valid only for
    // mapped IDs.
    assert_eq!(of_threads(&lab.site.weir, "CapPrm"), BTreeSet::from(["00000000000000df".to_owned()]));
    assert_eq!(of_threads(&lab.site.weir, "CapBnd"), BTreeSet::from(["00000000000000df".to_owned()]));
    // Files of unmapped owners look as if `nobody` owned them, but acting as `nobody` gives no access.
    lab.file("roots", 0, 0o600);
    lab.file("strangers", 61_500, 0o600);
    lab.file("nobodys", OTHERS, 0o600);
    let statuses = ["/roots", "/strangers", "/nobodys"].map(|path| lab.status("eve", "GET", path, b""));
    assert_eq!(statuses, [403, 403, 200]);
}

#[test]
fn links_of_owners_that_are_not_mapped_are_not_followed_where_owners_must_match() {
    Lab::each("symlinks = \"owner-match\"", |lab| {
        for (owner, name) in [(ADA, "ada"), (61_500, "stranger")] {
            lab.file(name, if owner == ADA { ADA } else { 61_501 }, 0o644);
            let link = lab.path(&format!("to-{name}"));
            std::os::unix::fs::symlink(name, &link).unwrap();
            std::os::unix::fs::lchown(&link, Some(owner), Some(owner)).unwrap();
        }
        assert_eq!(lab.status("ada", "GET", "/to-ada", b""), 200, "{}", lab.user);
        assert_eq!(lab.status("ada", "GET", "/to-stranger", b""), 403, "{}", lab.user);
    });
}

#[test]
fn a_reload_with_a_user_who_is_not_mapped_changes_nothing_and_says_what_to_do() {
    if !rustix::process::geteuid().is_root() {
        return weir_testkit::untested("needs root");
    }
    let mut lab = Lab::start(WEIR, "");
    lab.directory("open", OTHERS, OTHERS, 0o777);
    let map = lab.files.path().join("users.toml");
    let with = |user: u32| {
        let entry = "[[map]]\nprincipal = { type = \"user\", name = \"eve\" }\nuser = ";
        fs::write(&map, format!("{entry}\"{user}:{user}\"\n")).unwrap();
    };
    with(61_777);
    lab.site.weir.signal(weir_testkit::Signal::HUP);
    let told = lab.site.weir.wait_for_log("is not among those that this process can act as");
    assert!(told.contains("61777:61777") && told.contains("weir.act-as-ids"), "{told}");
    assert_eq!(lab.status("ada", "PUT", "/open/f", b"ada"), 201);
    assert_eq!(fs::metadata(lab.path("open/f")).unwrap().uid(), ADA);
    // An ID that is already mapped is accepted.
    with(ADA);
    let config = fs::read_to_string(lab.site.weir.config()).unwrap();
    lab.site.weir.reload(&config);
    assert_eq!(lab.status("eve", "PUT", "/open/g", b"eve"), 201);
    assert_eq!(fs::metadata(lab.path("open/g")).unwrap().uid(), ADA);
}

#[test]
fn numbers_that_the_config_names_can_come_into_the_map_later() {
    if !rustix::process::geteuid().is_root() {
        return weir_testkit::untested("needs root");
    }
    let mut lab = Lab::start(WEIR, "");
    drop(lab.site.weir);
    let launcher = Weir::launcher("");
    let process = own_user(launcher.directory(), WEIR, "act-as-ids = [\"61770-61779\", \"61790\"]");
    let area = format!("act-as = {{ map = {:?} }}\n{}", lab.files.path().join("users.toml"), crate::OPEN);
    lab.site.weir = launcher.config(&(process + &crate::config(lab.site.root.path(), "", &area))).start();
    lab.directory("open", OTHERS, OTHERS, 0o777);
    let entry = "[[map]]\nprincipal = { type = \"anyone\" }\nuser = \"61779:61770,61790\"\n";
    fs::write(lab.files.path().join("users.toml"), entry).unwrap();
    let config = fs::read_to_string(lab.site.weir.config()).unwrap();
    lab.site.weir.reload(&config);
    assert_eq!(lab.site.put("/open/f", &[], b"x").status, 201);
    let made = fs::metadata(lab.path("open/f")).unwrap();
    assert_eq!((made.uid(), made.gid()), (61_779, 61_770));
}

/// Returns a free port below 1024.
fn low_port() -> u16 {
    let free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (600..1024).rev().find(free).expect("a free port below 1024")
}

#[test]
fn a_reload_binds_ports_below_1024_by_a_process_that_can_do_nothing_else() {
    if !rustix::process::geteuid().is_root() {
        return weir_testkit::untested("needs root");
    }
    let mut lab = Lab::start(WEIR, "");
    lab.file("f", ADA, 0o644);
    let children = format!("/proc/{0}/task/{0}/children", lab.site.weir.pid());
    let monitor = fs::read_to_string(children).unwrap().trim().to_owned();
    let status = fs::read_to_string(format!("/proc/{monitor}/status")).unwrap();
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap().trim().to_owned()
    };
    assert_eq!(value("Uid"), format!("{WEIR}\t{WEIR}\t{WEIR}\t{WEIR}"));
    assert_eq!((value("CapPrm"), value("NoNewPrivs")), ("0000000000000400".to_owned(), "1".to_owned()));
    let config = fs::read_to_string(lab.site.weir.config()).unwrap();
    let with = |port: u16| {
        format!("{config}\n[listener.low{port}]\nbind = \"127.0.0.1:{port}\"\nstorage = \"data\"\n")
    };
    let port = low_port();
    lab.site.weir.reload(&with(port));
    let mut client = weir_testkit::RawClient::connect(lab.site.weir.addr(&format!("low{port}")));
    client.send(crate::message("HEAD", "/f", &[], b""));
    assert_eq!(client.response_to_head().status, 200);
    // If the monitor is gone, everything but this still works.
    let monitor = rustix::process::Pid::from_raw(monitor.parse().unwrap()).unwrap();
    rustix::process::kill_process(monitor, weir_testkit::Signal::KILL).unwrap();
    let other = low_port();
    fs::write(lab.site.weir.config(), with(other)).unwrap();
    lab.site.weir.signal(weir_testkit::Signal::HUP);
    let told = lab.site.weir.wait_for_log("by the monitor: ");
    assert!(told.contains(&format!("low{other}")), "{told}");
    assert_eq!(lab.status("ada", "GET", "/f", b""), 200);
}
