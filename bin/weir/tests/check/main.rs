//! Tests `weir check` with the real program.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot be set up has failed")]

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use socket2::{Domain, Socket, Type};
use weir_testkit::certificates::{Authority, Request};
use weir_testkit::{PATIENCE, TempDir, wait_until};

mod rights;
mod service;

const GOOD: &str =
    "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = \"127.0.0.1:1\"\n";

fn directory() -> TempDir {
    TempDir::new().expect("a directory for the test")
}

fn check(directory: &Path, config: &str, options: &[&str]) -> Output {
    fs::write(directory.join("weir.toml"), config).unwrap();
    weir(directory, &[&["check", "weir.toml"], options].concat())
}

fn weir(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir")).args(arguments).current_dir(directory).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_good_config_is_counted() {
    let directory = directory();
    let output = check(directory.path(), GOOD, &[]);
    assert_eq!(out(&output), "weir.toml: ok, 1 listener, 1 route, 1 pool, 1 server\n");
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
}

#[test]
fn a_wrong_config_shows_every_error_and_exits_with_1() {
    let directory = directory();
    let output = check(directory.path(), &GOOD.replace("bind", "bnd").replace("servers", "server"), &[]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(err(&output));
    assert_eq!(out(&output), "");
}

#[test]
fn a_wrong_weight_algorithm_or_key_is_pointed_at() {
    let directory = directory();
    let config = GOOD.replace(
        "servers = \"127.0.0.1:1\"",
        "balance = \"least-conections\"\nservers = [{ name = \"a\", address = \"127.0.0.1:1\", weight = 257 }]",
    );
    let keyless =
        "[pool.keyless]\nbalance = { algorithm = \"hash\", key = \"header\" }\nservers = \"127.0.0.1:1\"\n";
    let output = check(directory.path(), &format!("{config}\n{keyless}"), &[]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(err(&output));
}

#[test]
fn what_cannot_be_read_exits_with_2() {
    let directory = directory();
    let output = weir(directory.path(), &["check", "none.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("none.toml: No such file"), "{}", err(&output));
    let output = weir(directory.path(), &["check", "."]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    fs::write(directory.path().join("bytes.toml"), b"a = \"\xff\"").unwrap();
    assert_eq!(weir(directory.path(), &["check", "bytes.toml"]).status.code(), Some(2));
}

#[test]
fn a_directory_is_one_config() {
    let directory = directory();
    let (listener, pool) = GOOD.split_at(GOOD.find("[pool").unwrap());
    fs::write(directory.path().join("1.toml"), listener).unwrap();
    fs::write(directory.path().join("2.toml"), pool).unwrap();
    fs::write(directory.path().join("notes.txt"), "not TOML").unwrap();
    let output = weir(directory.path(), &["check", "."]);
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
}

#[test]
fn the_plan_is_printed_as_a_config_that_is_good_itself() {
    let directory = directory();
    let output = check(directory.path(), GOOD, &["--plan"]);
    let plan = out(&output);
    assert!(plan.contains("connect = \"3s\""), "{plan}");
    let again = check(directory.path(), &plan, &["--plan"]);
    assert_eq!((again.status.code(), out(&again)), (Some(0), plan));
}

#[test]
fn programs_get_json() {
    let directory = directory();
    let output = check(directory.path(), GOOD, &["--json", "--plan"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ok"], true);
    assert_eq!(report["plan"]["pools"][0]["servers"][0]["address"], "127.0.0.1:1");
    let output = check(directory.path(), &GOOD.replace("\"web\"\n\n", "\"wbe\"\n\n"), &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = &report["diagnostics"][0];
    assert_eq!((&report["ok"], &found["severity"]), (&Value::Bool(false), &Value::from("error")));
    assert_eq!(
        (&found["places"][0]["line"], &found["places"][0]["column"]),
        (&Value::from(3), &Value::from(8))
    );
    assert_eq!(found["help"], "did you mean \"web\"?");
}

#[test]
fn the_schema_is_json() {
    let output = weir(Path::new("."), &["check", "--schema"]);
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["type"], "object");
}

#[test]
fn a_port_that_another_program_has_is_an_error_unless_ports_are_left_out() {
    let directory = directory();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = GOOD.replace("127.0.0.1:0", &taken.local_addr().unwrap().to_string());
    let output = check(directory.path(), &config, &[]);
    assert_eq!(output.status.code(), Some(1));
    // This test process holds the port.
    let holder = format!("(process {})", std::process::id());
    assert!(err(&output).contains("in use by ") && err(&output).contains(&holder), "{}", err(&output));
    assert!(err(&output).contains("weir.toml:2:8"), "{}", err(&output));
    assert_eq!(check(directory.path(), &config, &["--no-ports"]).status.code(), Some(0));
}

#[test]
fn a_port_that_another_program_would_share_is_in_use_all_the_same() {
    let directory = directory();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(1).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let config = GOOD.replace("127.0.0.1:0", &address.to_string());
    let output = check(directory.path(), &config, &[]);
    let told = err(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains(&format!("listener web: {address}: in use by ")), "{told}");
    assert!(told.contains(&format!("(process {})", std::process::id())), "{told}");
    drop(socket);
    // A child that another test has just started may hold the port a little longer.
    wait_until("the port is free", PATIENCE, || {
        check(directory.path(), &config, &[]).status.code() == Some(0)
    });
}

#[test]
fn an_address_of_another_machine_is_an_error() {
    let directory = directory();
    let output = check(directory.path(), &GOOD.replace("127.0.0.1:0", "192.0.2.1:80"), &[]);
    assert!(err(&output).contains("this machine does not have the address"), "{}", err(&output));
    let output = check(directory.path(), &GOOD.replace("127.0.0.1:0", "unix:/nowhere/weir.sock"), &[]);
    assert!(err(&output).contains("there is no directory /nowhere"), "{}", err(&output));
}

#[test]
fn directories_that_nobody_makes_must_be_there() {
    let directory = directory();
    let config =
        format!("{GOOD}[weir]\ncontrol = \"/nowhere/at/all.sock\"\n[access-log]\nto = \"/nowhere/log\"\n");
    let output = check(directory.path(), &config, &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = err(&output);
    assert!(text.contains("weir.control: there is no directory /nowhere"), "{text}");
    assert!(text.contains("access-log.to: there is no directory /nowhere"), "{text}");
}

#[test]
fn certificates_must_load_and_their_keys_must_be_theirs() {
    let directory = directory();
    let authority = Authority::new("test");
    let good = authority.issue(&Request::names(&["a.example"])).write_to(directory.path(), "good");
    let other = authority.issue(&Request::names(&["b.example"])).write_to(directory.path(), "other");
    fs::write(directory.path().join("junk.pem"), "junk").unwrap();
    // The names are relative to the working directory, so that columns do not depend on its path.
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let tls = |more: &str| format!("{GOOD}[listener.web.tls]\n{more}\n");
    let pair = |certificate: &Path, key: &Path| {
        format!("{{ certificate = \"{}\", key = \"{}\" }}", name(certificate), name(key))
    };
    let fine = tls(&format!("certificates = {}", pair(&good.certificate, &good.key)));
    let output = check(directory.path(), &fine, &[]);
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));

    let wrong = tls(&format!(
        "certificates = [\"missing.pem\", {}, \"junk.pem\"]\nciphers = \"TLS13_AES_256_GCM_SHA348\"\nclient-auth = {{ ca = \"junk.pem\" }}",
        pair(&good.certificate, &other.key)
    ));
    let output = check(directory.path(), &wrong, &[]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(err(&output));
}

#[test]
fn errors_of_the_text_do_not_hide_those_of_certificates_ports_and_files() {
    let directory = directory();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let config = format!(
        "{}bcklog = 5\n[listener.web.tls]\ncertificates = [\"missing.pem\"]\n[access-log]\nto = \"/nowhere/log\"\n\
         [storage-area.data]\nroot = \"/nowhere/data\"\n[[route]]\nhost = \"files\"\nstorage = \"data\"\n",
        GOOD.replace("127.0.0.1:0", &address).replace("pool = \"web\"\n", "pool = \"wbe\"\n"),
    );
    let output = check(directory.path(), &config, &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = err(&output);
    for part in [
        "\"wbe\"",
        "pool web: unknown key",
        "in use by",
        "missing.pem: No such file",
        "access-log.to: there is no directory /nowhere",
        "storage area data: root: /nowhere/data: No such file",
        "weir.toml: 6 errors",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    // With `--no-ports` the ports are not checked.
    let text = err(&check(directory.path(), &config, &["--no-ports"]));
    assert!(!text.contains("in use by") && text.contains("weir.toml: 5 errors"), "{text}");
}

#[test]
fn what_may_come_of_an_error_in_the_text_is_not_told_as_another() {
    let directory = directory();
    for tls in [
        "certificates = 5",
        "certificates = []",
        "certificate = \"a.pem\"",
        "certificates = \"${NOT_SET_AT_ALL}\"",
    ] {
        let output = check(directory.path(), &format!("{GOOD}[listener.web.tls]\n{tls}\n"), &[]);
        let text = err(&output);
        assert_eq!(output.status.code(), Some(1), "{tls}");
        assert!(!text.contains("No such file"), "{tls}:\n{text}");
    }
}

#[test]
fn an_expired_certificate_is_a_warning() {
    let directory = directory();
    let files = Authority::new("test")
        .issue(&Request::names(&["a.example"]).expired())
        .write_to(directory.path(), "old");
    let config = format!(
        "{GOOD}[listener.web.tls]\ncertificates = {{ certificate = \"{}\", key = \"{}\" }}\n",
        files.certificate.display(),
        files.key.display()
    );
    let output = check(directory.path(), &config, &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(err(&output).contains("expired 1 day ago"), "{}", err(&output));
    assert!(out(&output).contains("1 warning"), "{}", out(&output));
}

#[test]
fn passwords_that_take_long_to_check_are_a_warning() {
    let directory = directory();
    let hash = |cost: u32| format!("$2y${cost}$abcdefghijklmnopqrstuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu");
    let config = &format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\nstorage = \"data\"\n[storage-area.data]\nroot = {:?}\n\
         htpasswd = \"users\"\n[storage-area.data.access]\nauthenticated-read = true\n",
        directory.path()
    );
    fs::write(directory.path().join("users"), format!("ada:{}\nbob:{}\n", hash(10), hash(13))).unwrap();
    let output = check(directory.path(), config, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(err(&output).contains("the password hashes of 1 of 2 users (bob) are slow"), "{}", err(&output));
    fs::write(directory.path().join("users"), format!("ada:{}\n", hash(10))).unwrap();
    assert!(!err(&check(directory.path(), config, &[])).contains("are slow"));
}

#[test]
fn an_error_page_can_be_a_file() {
    let directory = directory();
    fs::write(directory.path().join("503.html"), "<h1>Back soon</h1>").unwrap();
    let config = |file: &str| format!("{GOOD}[error-page.503]\nfile = \"{file}\"\n");
    let output = check(directory.path(), &config("503.html"), &["--plan"]);
    assert!(out(&output).contains("body = \"<h1>Back soon</h1>\""), "{}", err(&output));
    let output = check(directory.path(), &config("404.html"), &[]);
    assert!(err(&output).contains("error page 503: file: 404.html: No such file"), "{}", err(&output));
    assert!(err(&output).contains("weir.toml:8:8"), "{}", err(&output));
    assert_eq!(check(directory.path(), &config("."), &[]).status.code(), Some(1));
    fs::write(directory.path().join("large"), vec![b'x'; (1 << 20) + 1]).unwrap();
    assert!(err(&check(directory.path(), &config("large"), &[])).contains("larger than 1 MiB"));
}

#[test]
fn environment_variables_fill_values() {
    let directory = directory();
    fs::write(directory.path().join("weir.toml"), GOOD.replace("127.0.0.1:1", "${WEIR_TEST_SERVER}"))
        .unwrap();
    let run = |value: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command
            .args(["check", "weir.toml", "--plan"])
            .current_dir(directory.path())
            .env_remove("WEIR_TEST_SERVER");
        command.envs(value.map(|value| ("WEIR_TEST_SERVER", value))).output().unwrap()
    };
    assert!(out(&run(Some("10.9.8.7:80"))).contains("10.9.8.7:80"));
    let output = run(None);
    assert!(err(&output).contains("WEIR_TEST_SERVER is not set"), "{}", err(&output));
}

#[test]
fn explain_follows_a_request_through_a_config_file() {
    let directory = directory();
    let config = GOOD.replace("127.0.0.1:0", ":80");
    fs::write(directory.path().join("weir.toml"), config).unwrap();
    let explain = |url: &str, more: &[&str]| {
        weir(directory.path(), &[&["explain", "weir.toml", "--url", url], more].concat())
    };
    let output = explain("http://a.example/x", &["--header", "X-A: b", "--client", "192.0.2.1"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("server    127.0.0.1:1"), "{}", out(&output));
    let output = explain("http://a.example/x", &["--json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["outcome"]["pool"]["server"], "127.0.0.1:1");
    assert_eq!(explain("http://a.example:81/x", &[]).status.code(), Some(1));
    assert_eq!(explain("a.example", &[]).status.code(), Some(2));
    fs::write(directory.path().join("weir.toml"), "x = 1").unwrap();
    assert_eq!(explain("http://a.example/x", &[]).status.code(), Some(2));
}

#[test]
fn a_token_endpoint_that_no_request_comes_to_is_warned_of() {
    let directory = directory();
    fs::create_dir(directory.path().join("data")).unwrap();
    fs::write(directory.path().join("secret"), "a secret of more than thirty-two bytes\n").unwrap();
    let config = |route: &str| {
        let (root, key) = (directory.path().join("data"), directory.path().join("secret"));
        format!(
            "{GOOD}\n[[route]]\n{route}\nstorage = \"data\"\n[storage-area.data]\nroot = {root:?}\ntoken-endpoint = \"own\"\n\
             [token-endpoint.own]\nissuer = \"https://storage.example.org:8443\"\nalgorithm = \"HS256\"\nkey = {key:?}\n"
        )
    };
    let warned = |route: &str| {
        let output = check(directory.path(), &config(route), &[]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        err(&output)
            .contains("token endpoint own: no route leads POST /oauth/token at the host of https://storage")
    };
    for route in ["path = \"/data\"", "path = \"/oauth\"\nhost = \"www.example.org\"", "method = \"GET\""] {
        assert!(warned(route), "{route}");
    }
    for route in [
        "path = \"/\"",
        "path = [\"/data\", \"/oauth\"]\nhost = \"*.example.org\"",
        // The check cannot know which clients send requests.
        "client = \"192.0.2.0/24\"",
    ] {
        assert!(!warned(route), "{route}");
    }
}

#[test]
fn a_plan_is_printed_without_its_secrets_unless_they_are_asked_for() {
    let directory = directory();
    let route = "\n[[route]]\nheader = { X-Api-Key = \"key-7f\" }\npool = \"web\"\n\
                 request-headers = { set = { Authorization = \"Bearer ${WEIR_TEST_TOKEN}\", X-Site = \"main\" } }\n\
                 [[route]]\npath = \"/hook/${WEIR_TEST_TOKEN}\"\npool = \"probed\"\n\
                 [[route]]\nwhen = \"headers[?'x-api-key'].orValue('') == r'key-7f'\"\npool = \"probed\"\n\
                 [pool.probed]\nservers = \"127.0.0.1:1\"\n\
                 check = { http = \"GET /health?token=${WEIR_TEST_TOKEN}\", expect = { header = \"X-Probe: ${WEIR_TEST_TOKEN}\" } }\n";
    fs::write(directory.path().join("weir.toml"), format!("{GOOD}{route}")).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(arguments).current_dir(directory.path()).env("WEIR_TEST_TOKEN", "token-7f");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", err(&output));
        out(&output)
    };
    for arguments in [&["check", "weir.toml", "--plan"][..], &["check", "weir.toml", "--plan", "--json"]] {
        let shown = run(arguments);
        assert!(!shown.contains("-7f"), "{shown}");
        assert!(shown.contains("********") && shown.contains("X-Site"), "{shown}");
        let whole = run(&[arguments, &["--secrets"]].concat());
        assert!(whole.contains("Bearer token-7f") && whole.contains("key-7f"), "{whole}");
    }
    let explain = ["explain", "weir.toml", "--listener", "web", "--url", "http://a/"];
    let missing = run(&explain);
    assert!(!missing.contains("-7f") && missing.contains("no header X-Api-Key is"), "{missing}");
    let taken = run(&[&explain[..], &["-H", "X-Api-Key: key-7f"]].concat());
    assert!(!taken.contains("token-7f") && taken.contains("Authorization: ********"), "{taken}");
}

#[test]
fn files_that_every_user_can_read_or_change_are_warned_of() {
    let directory = directory();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(directory.path(), 0o755);
    let authority = Authority::new("ca");
    let site = authority.issue(&Request::names(&["a.example"]));
    let (pem, key) = (directory.path().join("a.pem"), directory.path().join("a.key"));
    fs::write(&pem, &site.certificate_pem).unwrap();
    fs::write(&key, &site.key_pem).unwrap();
    let config = format!(
        "{}\n[listener.web.tls]\ncertificates = [{{ certificate = \"a.pem\", key = \"a.key\" }}]\n",
        GOOD
    );
    let warnings = |pem_mode, key_mode| {
        mode(&pem, pem_mode);
        mode(&key, key_mode);
        err(&check(directory.path(), &config, &[]))
    };
    assert_eq!(warnings(0o644, 0o640), "");
    let readable = warnings(0o644, 0o644);
    assert!(
        readable.contains("listener web: tls: certificates.key") && readable.contains("can read it"),
        "{readable}"
    );
    assert!(readable.contains("weir.toml:9") && readable.contains("chmod o-r"), "{readable}");
    let writable = warnings(0o646, 0o640);
    assert!(
        writable.contains("certificates.certificate") && writable.contains("can change it"),
        "{writable}"
    );
    mode(&directory.path().join("weir.toml"), 0o666);
    let config_too = err(&check(directory.path(), &config, &[]));
    assert!(config_too.contains("config: ") && config_too.contains("weir.toml: every user"), "{config_too}");
}

#[test]
fn passwords_over_a_listener_without_tls_are_warned_of() {
    let directory = directory();
    let users = directory.path().join("users");
    fs::write(&users, "").unwrap();
    fs::set_permissions(&users, fs::Permissions::from_mode(0o600)).unwrap();
    let root = directory.path().display();
    let warnings = |listener: &str| {
        let config = format!(
            "[listener.web]\nstorage = \"data\"\n{listener}\n\n[storage-area.data]\nroot = \"{root}\"\nhtpasswd = \"users\"\naccess = {{ anonymous-read = true }}\n"
        );
        let output = check(directory.path(), &config, &["--no-ports"]);
        assert!(output.status.success(), "{}", err(&output));
        err(&output)
    };
    let told = warnings("bind = \":80\"");
    assert!(told.contains("clients of storage area data send passwords in plaintext"), "{told}");
    for quiet in [
        "bind = \"127.0.0.1:80\"",
        "bind = \"unix:/run/weir-test.sock\"",
        "bind = \":80\"\nforwarded = { trusted = \"10.0.0.0/8\" }",
        "bind = \":80\"\nproxy-protocol = { from = \"10.0.0.0/8\" }",
    ] {
        assert_eq!(warnings(quiet), "", "{quiet}");
    }
}
