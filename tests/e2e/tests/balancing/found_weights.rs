//! Tests of weights found by measurement: for dynamic requests and for files, and for servers added later.

use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, RawServer, wait_until};

/// Starts a server that takes the first time for /made and the second for other paths.
fn server(name: &'static str, made_ms: u64, file_ms: u64) -> RawServer {
    RawServer::responding(move |request| {
        let is_made = request.request_line().contains("/made");
        sleep(Duration::from_millis(if is_made { made_ms } else { file_ms }));
        let body = if request.request_line().starts_with("HEAD") { "" } else { name };
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nX-Origin: {name}\r\n\r\n{body}", name.len())
            .into_bytes()
    })
}

fn config(servers: &[(&str, &RawServer)], weight: &str, keys: &str) -> String {
    let servers: Vec<String> = servers
        .iter()
        .map(|(name, server)| {
            format!("{{ name = \"{name}\", address = \"{}\", weight = {weight} }}", server.addr())
        })
        .collect();
    format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nbalance = \"round-robin\"\nservers = [{}]\n{keys}\n",
        servers.join(", ")
    )
}

/// Returns the weight of a server in pool `web`, and its reason.
fn weight(weir: &Weir, server: &str) -> (u64, String) {
    let status: Value = serde_json::from_str(&weir.admin("/status.json")).unwrap();
    let servers = status["pools"][0]["servers"].as_array().unwrap();
    let of = servers.iter().find(|of| of["name"] == server).unwrap();
    (of["weight"].as_u64().unwrap(), of["weight_reason"].as_str().unwrap_or_default().to_owned())
}

/// Returns `a` from `16 x (a x Pp + ...`.
fn dynamic_share(reason: &str) -> f64 {
    let (_, rest) = reason.split_once("x (").unwrap_or_else(|| panic!("{reason:?}"));
    rest.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn files_make_servers_fetch_and_all_else_makes_them_compute() {
    let (computes, fetches) = (server("computes", 1, 40), server("fetches", 40, 1));
    let weir = Weir::start(&config(
        &[("computes", &computes), ("fetches", &fetches)],
        "\"auto\"",
        "auto-weight = { interval = \"1s\", min-requests = 8, static = [\"/file/**\", \"**.jpg\"] }",
    ));
    let made = |method: &str, target: &str| {
        format!("{method} {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
    };
    wait_until("the one that fetches weighs twice as much", PATIENCE, || {
        // One in four requests is dynamic. Each request would be classified wrongly by its method or its path
        // alone.
        for request in [
            get("/file/a"),
            get("/file.jpg"),
            "HEAD /file/b HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
            get("/file/c?made"),
            get("/file/d"),
            get("/file/e.html"),
            made("POST", "/made/x.jpg"),
            made("GET", "/made"),
        ] {
            let mut client = weir.client();
            client.send(&request);
            let response =
                if request.starts_with("HEAD") { client.response_to_head() } else { client.response() };
            assert_eq!(response.status, 200);
        }
        weight(&weir, "fetches").0 > 2 * weight(&weir, "computes").0
    });
    let (_, reason) = weight(&weir, "fetches");
    assert!((0.2..=0.3).contains(&dynamic_share(&reason)), "{reason}");
}

#[test]
fn a_server_that_is_added_is_measured_as_its_neighbours_are() {
    let (slow, quick) = (server("slow", 50, 50), server("quick", 1, 1));
    let keys = "auto-weight = { interval = \"1s\", min-requests = 2 }";
    let weir = Weir::start(&config(&[("slow", &slow)], "\"auto\"", keys));
    let add = |name: &str, more: &[&str]| {
        let address = quick.addr().to_string();
        let output = weir.ctl(&[&["add", "web", name, &address], more].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!add("quick", &["--weight", "auto"]).contains("note"));
    assert_eq!(weight(&weir, "quick"), (16, "not measured yet".to_owned()));
    wait_until("it weighs more than the slow one", PATIENCE, || {
        assert_eq!(weir.client().exchange(get("/")).status, 200);
        weight(&weir, "quick").0 > 3 * weight(&weir, "slow").0 / 2
    });
    // A server added with a fixed weight keeps it, with a warning that the other weights are measured.
    let said = add("fixed", &["--weight", "3"]);
    assert!(said.contains("server fixed weighs 3, while weights of others are found"), "{said}");
    assert_eq!(weight(&weir, "fixed"), (3, String::new()));
    assert!(weir.ctl(&["weight", "web/quick", "5"]).status.success());
    assert_eq!(weight(&weir, "quick"), (5, String::new()));
}

#[test]
fn a_server_cannot_be_added_to_be_measured_where_nothing_is() {
    let server = server("a", 1, 1);
    let weir = Weir::start(&config(&[("a", &server)], "2", ""));
    let output = weir.ctl(&["add", "web", "b", &server.addr().to_string(), "--weight", "auto"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("pool web, server b: no weights are measured"), "{said}");
}
