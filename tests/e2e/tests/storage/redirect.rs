//! Tests of a balancer that redirects clients to storage nodes with a ticket.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use weir_e2e::Weir;
use weir_origin::{Origin, OriginHandle};
use weir_testkit::{PATIENCE, RawClient, Response, TempDir, wait_until};

use crate::access::{ISSUER, Issuer, bearer};
use crate::{config, message, pattern};

/// A balancer in front of two nodes that share a directory.
struct Cluster {
    balancer: Weir,
    nodes: [Weir; 2],
    issuer: Issuer,
    root: TempDir,
    _secret: TempDir,
}

impl Cluster {
    /// Starts a cluster. `keys` are further keys of `redirect`.
    fn start(keys: &str) -> Self {
        let (root, secret, issuer) = (TempDir::new().unwrap(), TempDir::new().unwrap(), Issuer::new());
        let file: PathBuf = secret.path().join("redirect.key");
        std::fs::write(&file, "a secret of all nodes\n").unwrap();
        let area = format!(
            "listing = true\nredirect-key-file = \"{}\"\n[storage-area.data.access]\nissuers = \"{ISSUER}\"\ntoken-scopes = true\n{}\
             [access-log]\nformat = \"json\"\nto = \"stdout\"\n",
            file.display(),
            issuer.config()
        );
        let nodes = [0, 1].map(|_| Weir::start(&config(root.path(), "", &area)));
        let [n1, n2] = nodes.each_ref().map(|node| node.addr("web"));
        let balancer = Weir::start(&format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nbalance = \"round-robin\"\n\
             servers = [{{ name = \"n1\", address = \"{n1}\" }}, {{ name = \"n2\", address = \"{n2}\" }}]\n\
             [pool.web.redirect]\nkey-file = \"{}\"\nnodes = {{ n1 = \"http://{n1}\", n2 = \"http://{n2}\" }}\n{keys}\n",
            file.display()
        ));
        Self { balancer, nodes, issuer, root, _secret: secret }
    }

    fn authorization(&self, scope: &str) -> String {
        bearer(&self.issuer.token(&json!({ "scope": scope })))
    }

    /// Returns the node that the balancer redirects to, and the target there.
    fn sent_on(&self, method: &str, path: &str, authorization: Option<&str>) -> (&Weir, String) {
        let headers: Vec<(&str, &str)> =
            authorization.iter().map(|value| ("Authorization", *value)).collect();
        let answer = self.balancer.client().exchange(message(method, path, &headers, b""));
        assert_eq!((answer.status, answer.header("cache-control")), (307, Some("no-store")));
        let location = answer.header("location").unwrap();
        let node = self.nodes.iter().find(|node| location.contains(&node.addr("web").to_string())).unwrap();
        let target = location.strip_prefix(&format!("http://{}", node.addr("web"))).unwrap();
        (node, target.to_owned())
    }
}

fn ask(node: &Weir, method: &str, target: &str) -> Response {
    node.client().exchange(message(method, target, &[], b""))
}

#[test]
fn curl_reads_and_writes_past_the_balancer_with_the_credentials_that_it_showed_there() {
    let cluster = Cluster::start("");
    let content = pattern(2_000_000);
    let directory = TempDir::new().unwrap();
    let (upload, download) = (directory.path().join("up"), directory.path().join("down"));
    std::fs::write(&upload, &content).unwrap();
    let header = format!("Authorization: {}", cluster.authorization("storage.read:/ storage.create:/"));
    let url = |name: &str| format!("http://{}/{name}?a=b", cluster.balancer.addr("web"));
    let curl = |arguments: &[&str]| {
        let output = Command::new("curl")
            .args(["-sS", "-L", "-w", "%{http_code} %{num_redirects}", "-H", &header])
            .args(arguments)
            .output()
            .expect("curl");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for name in ["one", "two"] {
        let put = ["-H", "Expect: 100-continue", "-T", upload.to_str().unwrap(), &url(name)];
        assert_eq!(curl(&put), "201 1");
        assert!(std::fs::read(cluster.root.path().join(name)).unwrap() == content, "{name}");
        assert_eq!(curl(&["-o", download.to_str().unwrap(), &url(name)]), "200 1");
        assert!(std::fs::read(&download).unwrap() == content, "{name}");
    }
    let passed = |weir: &Weir| {
        let metrics = weir.metrics();
        let listener = ["listener=\"web\""];
        metrics.get("weir_listener_request_bytes_total", &listener)
            + metrics.get("weir_listener_response_bytes_total", &listener)
    };
    assert!(passed(&cluster.balancer) < 100_000.0, "the balancer has seen no body");
    assert!(cluster.nodes.iter().all(|node| passed(node) > 2_000_000.0), "both nodes have had their part");
}

#[test]
fn a_ticket_is_good_for_one_method_one_path_and_one_client() {
    let mut cluster = Cluster::start("");
    std::fs::write(cluster.root.path().join("a"), "content").unwrap();
    let authorization = cluster.authorization("storage.read:/ storage.modify:/");
    let (node, target) = cluster.sent_on("GET", "/a?x=1", Some(&authorization));
    let ticket = target.strip_prefix("/a?x=1&weir_ticket=").unwrap().to_owned();
    assert_eq!(ask(node, "GET", &target).text(), "content");
    assert_eq!(ask(node, "GET", "/a").status, 401, "without it nobody is let in");
    let refused = |method: &str, target: &str, why: &str| {
        let answer = ask(node, method, target);
        assert_eq!(answer.status, 403, "{method} {why}");
        assert!(answer.text().contains(why), "{}", answer.text());
    };
    refused("PUT", &target, "for another method");
    refused("DELETE", &target, "for another method");
    refused("GET", &target.replace("/a?", "/b?"), "for another path");
    let at = ticket.len() / 2;
    let other = if ticket.as_bytes()[at] == b'A' { 'B' } else { 'A' };
    let forged = format!("{}{other}{}", &ticket[..at], &ticket[at + 1..]);
    refused("GET", &format!("/a?weir_ticket={forged}"), "not one of ours");
    refused("GET", &format!("/a?weir_ticket={ticket}&weir_ticket={ticket}"), "not one of ours");
    let elsewhere: IpAddr = "127.0.0.2".parse().unwrap();
    let mut thief = RawClient::connect_from(elsewhere, node.addr("web"));
    let answer = thief.exchange(message("GET", &target, &[], b""));
    assert_eq!(answer.status, 403);
    assert!(answer.text().contains("another client address"), "{}", answer.text());
    for node in &mut cluster.nodes {
        if node.log().iter().any(|line| line.contains("weir_ticket")) {
            let line = node.wait_for_log("weir_ticket");
            assert!(line.contains("weir_ticket=REDACTED"), "{line}");
        }
        assert!(!node.log().iter().any(|line| line.contains(&ticket)));
    }
}

#[test]
fn a_ticket_counts_for_its_time_only() {
    let cluster = Cluster::start("lifetime = \"1s\"");
    std::fs::write(cluster.root.path().join("a"), "content").unwrap();
    let (node, target) = cluster.sent_on("GET", "/a", Some(&cluster.authorization("storage.read:/")));
    wait_until("it expires", PATIENCE, || {
        let answer = ask(node, "GET", &target);
        answer.status == 403 && answer.text().contains("has expired")
    });
}

#[test]
fn a_ticket_grants_nothing_that_its_client_has_no_right_to() {
    let cluster = Cluster::start("");
    std::fs::write(cluster.root.path().join("a"), "content").unwrap();
    let (node, target) = cluster.sent_on("GET", "/a", None);
    assert_eq!(ask(node, "GET", &target).status, 401);
    let (node, target) = cluster.sent_on("PUT", "/b", Some(&cluster.authorization("storage.read:/")));
    assert_eq!(ask(node, "PUT", &target).status, 403);
    let (node, target) = cluster.sent_on("GET", "/a", Some("Bearer forged"));
    assert_eq!(ask(node, "GET", &target).status, 401);
    assert!(!cluster.root.path().join("b").exists());
}

#[test]
fn other_methods_pass_through_the_balancer_and_without_a_node_it_answers_as_always() {
    let cluster = Cluster::start("");
    std::fs::write(cluster.root.path().join("a"), "content").unwrap();
    let authorization = cluster.authorization("storage.read:/");
    let headers = [("Authorization", authorization.as_str())];
    let mut client = cluster.balancer.client();
    client.send(message("HEAD", "/a", &headers, b""));
    assert_eq!(client.response_to_head().status, 200);
    // The links of a listing would lead past the balancer without a ticket.
    assert_eq!(client.exchange(message("GET", "/", &headers, b"")).status, 200);
    let script = [headers[0], ("Sec-Fetch-Mode", "cors")];
    assert_eq!(client.exchange(message("GET", "/a", &script, b"")).status, 200);
    let sent_on = || cluster.balancer.metrics().get("weir_pool_sent_on_total", &["pool=\"web\""]);
    assert_eq!(sent_on(), 0.0);
    assert_eq!(client.exchange(message("GET", "/a", &headers, b"")).status, 307);
    assert_eq!(sent_on(), 1.0);
    for server in ["n1", "n2"] {
        let state = json!({"server-state": {"pool": "web", "server": server, "state": "maintenance"}});
        cluster.balancer.obey(&state);
    }
    let answer = cluster.balancer.client().exchange(message("GET", "/a", &headers, b""));
    assert_eq!(answer.status, 503);
}

#[test]
fn an_upload_that_can_be_resumed_passes_through_the_balancer_where_its_client_goes_on_with_it() {
    let cluster = Cluster::start("");
    let authorization = cluster.authorization("storage.create:/");
    let authorized = ("Authorization", authorization.as_str());
    let mut client = cluster.balancer.client();
    client.send(message("PUT", "/a", &[authorized, ("Upload-Complete", "?0")], b"first "));
    let begun = client.final_response();
    assert_eq!(begun.status, 201, "{begun:?}");
    let url = begun.header("location").unwrap();
    assert!(url.starts_with("/a?weir-upload="), "{url}");
    client.send(message("GET", url, &[authorized], b""));
    let told = client.final_response();
    assert_eq!((told.status, told.header("upload-offset")), (204, Some("6")), "{told:?}");
    let rest = [
        authorized,
        ("Content-Type", "application/partial-upload"),
        ("Upload-Offset", "6"),
        ("Upload-Complete", "?1"),
    ];
    client.send(message("PATCH", url, &rest, b"second"));
    let done = client.final_response();
    assert_eq!(done.status, 201, "{done:?}");
    assert_eq!(std::fs::read(cluster.root.path().join("a")).unwrap(), b"first second");
    // Other uploads are still redirected.
    cluster.sent_on("PUT", "/b", Some(&authorization));
}

/// A balancer that redirects clients to the nodes `a` and `b`. No file is requested from them, so they have
/// none.
struct Signpost {
    balancer: Weir,
    nodes: [OriginHandle; 2],
    _secret: TempDir,
}

impl Signpost {
    /// Starts the balancer with further keys of the pool.
    fn start(keys: &str) -> Self {
        let nodes = ["a", "b"].map(|name| Origin::builder().name(name).start().unwrap());
        let [a, b] = nodes.each_ref().map(OriginHandle::addr);
        let secret = TempDir::new().unwrap();
        let file = secret.path().join("redirect.key");
        std::fs::write(&file, "a secret of all nodes\n").unwrap();
        let balancer = Weir::start(&format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\n{keys}\n\
             servers = [{{ name = \"a\", address = \"{a}\" }}, {{ name = \"b\", address = \"{b}\" }}]\n\
             [pool.web.redirect]\nkey-file = \"{}\"\nnodes = {{ a = \"http://a.example\", b = \"http://b.example\" }}\n",
            file.display()
        ));
        Self { balancer, nodes, _secret: secret }
    }

    /// Returns the name of the node that a client is redirected to.
    fn sent_on(&self, path: &str) -> String {
        let answer = self.balancer.client().exchange(message("GET", path, &[], b""));
        assert_eq!(answer.status, 307);
        let location = answer.header("location").unwrap().strip_prefix("http://").unwrap();
        location.split_once(".example/").unwrap().0.to_owned()
    }
}

/// Header of a request from a script of a page, which the balancer proxies instead of redirecting.
const OF_A_SCRIPT: [(&str, &str); 1] = [("Sec-Fetch-Mode", "cors")];

#[test]
fn a_node_that_fails_its_checks_is_sent_nobody_until_it_passes_them_again() {
    let check = "check = { http = \"GET /health\", interval = \"50ms\", fast-interval = \"20ms\", rise = 2, fall = 2 }";
    let signpost = Signpost::start(&format!("balance = \"round-robin\"\n{check}"));
    let used = || (0..6).map(|_| signpost.sent_on("/f")).collect::<BTreeSet<_>>();
    assert_eq!(used().len(), 2);
    signpost.nodes[0].set_healthy(false);
    wait_until("the failing node is out", PATIENCE, || used().iter().eq(["b"]));
    for _ in 0..4 {
        assert!(used().iter().eq(["b"]));
    }
    signpost.nodes[0].set_healthy(true);
    wait_until("it is back", PATIENCE, || used().len() == 2);
    assert!(signpost.nodes.iter().all(|node| node.requests() == 0), "only checks have reached them");
}

#[test]
fn the_node_is_the_one_that_the_algorithm_keeps_for_the_path() {
    let signpost = Signpost::start("balance = { algorithm = \"hash\", key = \"uri\" }");
    let mut used = BTreeSet::new();
    for key in 0..40 {
        let path = format!("/files/{key}");
        let node = signpost.sent_on(&path);
        let mut client = signpost.balancer.client();
        let passed_on = client.exchange(message("GET", &path, &OF_A_SCRIPT, b""));
        assert_eq!(passed_on.header("x-origin"), Some(node.as_str()), "{path}");
        assert_eq!(signpost.sent_on(&path), node, "{path}");
        used.insert(node);
    }
    assert_eq!(used.len(), 2, "only {used:?}");
}

#[test]
fn least_connections_sends_clients_on_to_the_node_that_has_less_to_do() {
    let signpost = Signpost::start("balance = \"least-connections\"");
    let active = || signpost.nodes.each_ref().map(OriginHandle::active);
    let mut client = signpost.balancer.client();
    client.send(message("GET", "/hang", &OF_A_SCRIPT, b""));
    wait_until("the request arrives", PATIENCE, || active() != [0, 0]);
    let idle = if active()[0] == 0 { "a" } else { "b" };
    for _ in 0..8 {
        assert_eq!(signpost.sent_on("/f"), idle);
    }
}
