//! Tests expressions of routes in the running program: errors in the config, and failures that depend on the
//! request.

use std::process::Command;

use weir_e2e::{Weir, get, program};
use weir_testkit::{PATIENCE, RawServer, TempDir, wait_until};

fn with_header(line: &str) -> String {
    format!("GET /admin HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n")
}

fn config(server: &RawServer, routes: &str) -> String {
    format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n{routes}\n[pool.web]\nservers = \"{}\"\n",
        server.addr()
    )
}

#[test]
fn an_ill_typed_condition_is_refused_before_the_program_runs() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("weir.toml");
    let text = "[listener.web]\nbind = \"127.0.0.1:0\"\n\n[[route]]\nname = \"admin\"\nwhen = 'client_ip in \"127.0.0.0/8\"'\nrespond = 403\n";
    std::fs::write(&file, text).unwrap();
    for verb in ["check", "run"] {
        let output = Command::new(program()).arg(verb).arg(&file).output().unwrap();
        let said =
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success(), "{verb}: {said}");
        assert!(said.contains("weir.toml:6:19"), "{verb}: {said}");
        assert!(said.contains("found string and string"), "{verb}: {said}");
        assert!(said.contains("client = \"127.0.0.0/8\""), "{verb}: {said}");
    }
}

#[test]
fn a_denying_route_whose_condition_fails_denies_and_is_counted_and_logged() {
    let server = RawServer::answering("secret");
    let routes = "[[route]]\nname = \"admin\"\npath = \"/admin\"\nwhen = \"headers['x-role'] != 'admin'\"\nrespond = 403\n\n";
    let mut weir = Weir::start(&config(&server, routes));
    let status = |request: String| weir.client().exchange(request).status;
    assert_eq!(status(get("/admin")), 403);
    assert_eq!(status(with_header("X-Role: guest")), 403);
    assert_eq!(status(with_header("X-Role: admin")), 200);
    assert_eq!(status(get("/other")), 200);
    let failures = |result: &str| {
        let labels = ["listener=\"web\"", &format!("result=\"{result}\"")];
        weir.metrics().get("weir_listener_expression_failures_total", &labels)
    };
    wait_until("the failure is counted", PATIENCE, || failures("denied") == 1.0);
    assert_eq!(failures("passed-over"), 0.0);
    let line = weir.wait_for_log("route admin: when: the expression failed");
    assert!(line.contains("listener web") && line.contains("no such key: x-role"), "{line}");
    assert!(line.contains("for 1 request ") && line.contains("the route denies, so it refused"), "{line}");
}

#[test]
fn a_route_that_does_not_deny_is_passed_over_where_its_condition_fails() {
    let server = RawServer::answering("fine");
    let routes = "[[route]]\nname = \"beta\"\nwhen = \"1 / (size(query) - size(query)) == 1 || headers['cookie'] == 'a'\"\nredirect = \"/beta\"\n\n";
    let mut weir = Weir::start(&config(&server, routes));
    assert_eq!(weir.client().exchange("GET / HTTP/1.1\r\nHost: a\r\nCookie: sesame\r\n\r\n").status, 200);
    let labels = ["listener=\"web\"", "result=\"passed-over\""];
    wait_until("the failure is counted", PATIENCE, || {
        weir.metrics().get("weir_listener_expression_failures_total", &labels) == 1.0
    });
    let line = weir.wait_for_log("route beta: when: the expression failed");
    assert!(line.contains("division by zero") && line.contains("the route did not take them"), "{line}");
    assert!(!weir.log().join("\n").contains("sesame"), "values of requests are not logged");
}

#[test]
fn explain_says_that_a_condition_fails_and_what_the_route_does() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("weir.toml");
    let server = RawServer::answering("fine");
    let routes = "[[route]]\nname = \"beta\"\nwhen = \"headers['x-beta'] == '1'\"\nredirect = \"/beta\"\n\n\
                  [[route]]\nname = \"admin\"\npath = \"/admin\"\nwhen = \"headers['x-role'] != 'admin'\"\nrespond = 403\n\n";
    std::fs::write(&file, config(&server, routes)).unwrap();
    let output = Command::new(program())
        .arg("explain")
        .arg(&file)
        .args(["--listener", "web", "--url", "http://a/admin"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("this fails (no such key: x-beta): headers['x-beta'] == '1'"), "{said}");
    assert!(said.contains("this fails (no such key: x-role), and the route denies"), "{said}");
}
