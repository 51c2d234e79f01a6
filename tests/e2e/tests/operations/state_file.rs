//! Tests of the file with runtime changes: its lock, and the messages about it. Also tests a check by a user
//! that may not read all files.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use serde_json::json;
use weir_e2e::{Weir, get, program, web};
use weir_testkit::{Child, PATIENCE, RawServer, RefusingPort, TempDir, untested, wait_until};

/// Returns a config with this state file.
fn config(server: &RawServer, file: &str) -> String {
    format!("[weir]\nstate = \"{file}\"\n{}", web(&[server.addr()]))
}

#[test]
fn a_state_file_in_use_is_refused_with_the_name_of_its_user() {
    let server = RawServer::answering("hi");
    let shared = TempDir::new().unwrap();
    let file = shared.path().join("state.toml");
    let config = config(&server, file.to_str().unwrap());
    let mut first = Weir::start(&config);
    let mut second = Weir::launcher(&config).spawn();
    assert_eq!(second.wait().code(), Some(2));
    let said = second.log().join("\n");
    for part in ["in use by another weir", &format!("pid {}", first.pid()), "state in [weir]"] {
        assert!(said.contains(part), "{said}");
    }
    // The lock is released when its holder ends.
    assert!(first.stop().success());
    Weir::start(&config);
}

#[test]
fn another_config_does_not_get_runtime_changes_and_does_not_erase_them() {
    let server = RawServer::answering("hi");
    let shared = TempDir::new().unwrap();
    let file = shared.path().join("state.toml");
    let config = config(&server, file.to_str().unwrap());
    let drain =
        json!({"server-state": {"pool": "web", "server": server.addr().to_string(), "state": "drain"}});
    let mut first = Weir::start(&config);
    first.obey(&drain);
    let path = first.config();
    assert!(first.stop().success());
    let kept = std::fs::read_to_string(&file).unwrap();

    let mut second = Weir::start(&config);
    second.wait_for_log(&format!("belong to the config {}; they are kept", path.display()));
    assert_eq!(second.client().exchange(get("/")).text(), "hi");
    let weight = json!({"server-weight": {"pool": "web", "server": server.addr().to_string(), "weight": 7}});
    second.obey(&weight);
    assert!(second.stop().success());
    let both = std::fs::read_to_string(&file).unwrap();
    assert!(both.contains("drain") && both.contains("weight = 7"), "{kept}\n{both}");

    // Starts with the first config again and checks the note about the changes that apply.
    let mut again = Command::new(program());
    again.arg("run").arg(&path);
    let mut again = Child::spawn(again);
    let said = again.wait_for_line(PATIENCE, |line| line.contains("runtime changes apply to 1 servers ("));
    assert!(said.contains(": drain)"), "{said}");
}

#[test]
fn a_refused_connection_is_counted_once() {
    let nobody = RefusingPort::new();
    let weir = Weir::start(&format!("{}retry = {{ attempts = 2 }}\neject = false\n", web(&[nobody.addr()])));
    assert_eq!(weir.client().exchange(get("/")).status, 502);
    let mut seen = Vec::new();
    wait_until("the counts", PATIENCE, || {
        let csv = weir.admin("/status.csv");
        let rows: Vec<Vec<&str>> =
            csv.lines().filter(|line| line.contains(',')).map(|line| line.split(',').collect()).collect();
        let column =
            |name: &str| rows[0].iter().position(|title| title.trim_start_matches("# ") == name).unwrap();
        let of = |name: &str| rows.iter().find(|row| row[1] == "BACKEND").unwrap()[column(name)].to_owned();
        seen = ["econ", "eresp", "wretr"].map(of).to_vec();
        seen[0] != "0"
    });
    // Three connections were refused, and two of these requests were retried. HAProxy counts the same way.
    assert_eq!(seen, ["1", "0", "2"]);
}

#[test]
fn a_check_by_another_user_says_what_it_may_not_read_and_does_not_fail() {
    let directory = TempDir::new().unwrap();
    let open = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap()
    };
    open(directory.path(), 0o755);
    let key = directory.path().join("key.pem");
    let issued = weir_testkit::certificates::SelfSigned::for_name("a.test");
    let certificate = directory.path().join("a.pem");
    std::fs::write(&certificate, &issued.certificate_pem).unwrap();
    std::fs::write(&key, &issued.key_pem).unwrap();
    open(&key, 0o600);
    let config = directory.path().join("weir.toml");
    let text = format!(
        "[weir]\ncontrol = false\nstate = false\n[listener.web]\nbind = \"127.0.0.1:0\"\n[listener.web.tls]\ncertificates = [{{ \
         certificate = \"{}\", key = \"{}\" }}]\n[[route]]\nrespond = 200\n",
        certificate.display(),
        key.display()
    );
    std::fs::write(&config, text).unwrap();
    open(&config, 0o644);
    let check =
        |uid: u32| Command::new(program()).args(["check", "--no-ports"]).arg(&config).uid(uid).output();
    let Ok(output) = check(65_534) else { return untested("not root, or the program is not for all users") };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("not checked") && said.contains("uid 65534") && said.contains("sudo -u weir"),
        "{said}"
    );
    std::fs::remove_file(&key).unwrap();
    let output = check(65_534).unwrap();
    assert_eq!(output.status.code(), Some(1), "a file that is missing is missing for everybody");
}
