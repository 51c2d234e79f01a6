//! Tests of the privileges of the process after its start.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use rustix::process::geteuid;
use weir_e2e::{Weir, get, web};
use weir_testkit::certificates::{Authority, IssuedFiles, Request};
use weir_testkit::{RawServer, TempDir, untested};

/// The user `nobody`.
const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    let is_root = geteuid().is_root();
    if !is_root {
        untested("only root can become another user");
    }
    is_root
}

/// Returns the values of a line of `/proc/PID/status`, one for each thread.
fn of_threads(weir: &Weir, name: &str) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", weir.pid())).unwrap();
    let value = |thread: &Path| {
        let status = std::fs::read_to_string(thread.join("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap().trim().to_owned()
    };
    threads.map(|thread| value(&thread.unwrap().path())).collect()
}

/// Returns a config with a server and a user that may write to `directory`.
fn config(directory: &Path, server: &RawServer) -> String {
    chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755)).unwrap();
    let process = format!(
        "[weir]\nworkers = 2\nuser = \"{NOBODY}:{NOBODY}\"\ncontrol = {:?}\nstate = {:?}\n\n",
        directory.join("control.sock"),
        directory.join("state.toml")
    );
    process + &web(&[server.addr()])
}

#[test]
fn started_as_root_it_becomes_the_user_of_its_config_in_every_thread_and_keeps_no_way_back() {
    if !is_root() {
        return;
    }
    let server = RawServer::answering("hi");
    let launcher = Weir::launcher("");
    let directory = launcher.directory().to_owned();
    // A key that the user cannot read: Weir reads it before it changes the user.
    let authority = Authority::new("test authority");
    let files = authority.issue(&Request::names(&["localhost"])).write_to(&directory, "site");
    std::fs::set_permissions(&files.key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let tls = format!(
        "tls = {{ certificates = {{ certificate = {:?}, key = {:?} }} }}\n",
        files.certificate, files.key
    );
    let socket = directory.join("web.sock");
    let secure = format!(
        "[listener.secure]\nbind = [\"127.0.0.1:0\", \"unix:{}\"]\npool = \"web\"\n{tls}\n",
        socket.display()
    );
    let mut weir = launcher.config(&(config(&directory, &server) + &secure)).start();
    assert_eq!(weir.client().exchange(get("/")).status, 200);
    let ids = format!("{NOBODY}\t{NOBODY}\t{NOBODY}\t{NOBODY}");
    for name in ["Uid", "Gid"] {
        let values = of_threads(&weir, name);
        assert!(values.len() > 2 && values.iter().all(|value| *value == ids), "{name}: {values:?}");
    }
    assert_eq!(std::fs::metadata(&socket).unwrap().uid(), NOBODY);
    assert!(of_threads(&weir, "NoNewPrivs").iter().all(|value| value == "1"));
    assert!(of_threads(&weir, "Seccomp").iter().all(|value| value == "2"));
    // The process keeps only the capability to bind ports below 1024, for a reload.
    let rights = of_threads(&weir, "CapPrm");
    let is_few = |value: &String| matches!(u64::from_str_radix(value, 16), Ok(0 | 0x400));
    assert!(rights.iter().all(is_few) && rights.iter().any(|value| value.ends_with("400")), "{rights:?}");
    // The process continues as that user: commands, state and new addresses work.
    let more =
        format!("{}\n[listener.more]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n", config(&directory, &server));
    weir.reload(&more);
    assert_eq!(weir_testkit::RawClient::connect(weir.addr("more")).exchange(get("/")).status, 200);
}

#[test]
fn a_key_that_the_user_cannot_read_keeps_no_reload_from_the_rest_of_the_config() {
    if !is_root() {
        return;
    }
    let server = RawServer::answering("hi");
    let launcher = Weir::launcher("");
    let directory = launcher.directory().to_owned();
    let authority = Authority::new("test authority");
    let write = |name: &str| {
        let files = authority.issue(&Request::names(&["localhost"])).write_to(&directory, name);
        std::fs::set_permissions(&files.key, std::fs::Permissions::from_mode(0o600)).unwrap();
        files
    };
    let files = write("site");
    let secure = |files: &IssuedFiles, keys: &str| {
        format!(
            "[listener.secure]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n{keys}\
             tls = {{ certificates = {{ certificate = {:?}, key = {:?} }} }}\n\n",
            files.certificate, files.key
        )
    };
    let config = config(&directory, &server);
    let mut weir = launcher.config(&(config.clone() + &secure(&files, ""))).start();
    let told = weir.log().join("\n");
    assert!(told.contains("a reload goes on with what is loaded of it"), "{told}");
    std::fs::write(directory.join("ca.pem"), authority.pem()).unwrap();
    let route = "[[route]]\npath = \"/new\"\nrespond = 204\n";
    weir.reload(&(config.clone() + &secure(&files, "backlog = 77\n") + route));
    assert_eq!(weir.client().exchange(get("/new")).status, 204);
    weir.wait_for_log("what is loaded of it stays in use");
    let mut curl = std::process::Command::new("curl");
    curl.args(["-sS", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "10", "--cacert"]);
    curl.arg(directory.join("ca.pem"));
    let output = curl.arg(format!("https://localhost:{}/new", weir.addr("secure").port())).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "204", "{output:?}");
    // A new key that the user cannot read makes the reload fail.
    std::fs::write(weir.config(), config + &secure(&write("other"), "")).unwrap();
    weir.signal(weir_testkit::Signal::HUP);
    weir.wait_for_log("nothing has changed");
    assert_eq!(weir.client().exchange(get("/new")).status, 204);
}

#[test]
fn a_user_that_is_not_there_or_cannot_be_become_is_named() {
    let server = RawServer::answering("hi");
    let config = format!("[weir]\nuser = \"no-such-user\"\n\n{}", web(&[server.addr()]));
    let mut weir = Weir::launcher(&config).spawn();
    assert_eq!(weir.wait().code(), Some(1));
    let log = weir.log().join("\n");
    assert!(
        log.contains("weir.user: \"no-such-user\" is neither a user in /etc/passwd nor written as UID:GID"),
        "{log}"
    );
}

#[test]
fn a_reload_that_needs_another_directory_than_the_sandbox_permits_changes_nothing() {
    let server = RawServer::answering("hi");
    let (root, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let config = |root: &Path| {
        format!(
            "[weir]\nworkers = 1\nsandbox = true\n\n{}\n[[route]]\npath = \"/files\"\nstorage = \"data\"\n\n\
             [storage-area.data]\nroot = {root:?}\naccess-points = \"/files\"\n[[storage-area.data.access.policy]]\ndescription = \"all\"\neffect = \"permit\"\n\
             actions = \"all\"\nprincipals = {{ type = \"anyone\" }}\n",
            web(&[server.addr()])
        )
    };
    let mut weir = Weir::start(&config(root.path()));
    let put = "PUT /files/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi";
    assert_eq!(weir.client().exchange(put).status, 201, "{:?}", weir.log());
    assert!(of_threads(&weir, "NoNewPrivs").iter().all(|value| value == "1"));
    std::fs::write(
        weir.config(),
        std::fs::read_to_string(weir.config())
            .unwrap()
            .replace(&format!("{:?}", root.path()), &format!("{:?}", other.path())),
    )
    .unwrap();
    weir.signal(weir_testkit::Signal::HUP);
    let told = weir.wait_for_log("the sandbox permits no writes there since the start");
    assert!(told.contains(&other.path().display().to_string()), "{told}");
    assert_eq!(weir.client().exchange(put).status, 204);
}

#[test]
fn its_memory_is_not_written_to_disk_when_it_crashes_unless_that_is_wished() {
    let limits = |weir: &Weir| {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", weir.pid())).unwrap();
        let line = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
        line.split_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let server = RawServer::answering("hi");
    assert_eq!(limits(&Weir::start(&web(&[server.addr()]))), ["1", "1"]);
    let wished = format!("[weir]\ncore-dumps = true\nworkers = 1\n\n{}", web(&[server.addr()]));
    assert_ne!(limits(&Weir::start(&wished)), ["1", "1"]);
}
