//! Tests of balancing by key: uri, header, cookie, parameter, expression, and the RDP cookie.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::json;
use weir_e2e::Weir;
use weir_origin::OriginHandle;
use weir_testkit::{PATIENCE, RawClient, RawServer, TempDir, wait_until};

use crate::{origin, pool};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn start(balance: &str) -> (Weir, [OriginHandle; 4]) {
    let origins = NAMES.map(origin);
    let weir = Weir::start(&config(&origins, balance));
    (weir, origins)
}

fn config(origins: &[OriginHandle], balance: &str) -> String {
    let servers: Vec<_> = origins.iter().map(|origin| (origin, "")).collect();
    pool(&servers, &format!("balance = {balance}"))
}

/// Returns the server that responds to a request for `target` with these header lines, over its own
/// connection.
fn server(weir: &Weir, target: &str, lines: &str) -> String {
    let request = format!("GET {target} HTTP/1.1\r\nHost: web.example\r\n{lines}\r\n");
    weir.client().exchange(request).header("x-origin").expect("an origin answers").to_owned()
}

/// Checks that each of forty keys stays with one server, and that they do not all share one. (Some hash
/// functions spread such similar keys unevenly.)
fn assert_kept(weir: &Weir, request: impl Fn(usize) -> (String, String)) {
    let mut used = BTreeSet::new();
    for key in 0..40 {
        let (target, lines) = request(key);
        let servers: BTreeSet<_> = (0..3).map(|_| server(weir, &target, &lines)).collect();
        assert_eq!(servers.len(), 1, "{target} {lines:?} went to {servers:?}");
        used.extend(servers);
    }
    assert!(used.len() > 1, "only {used:?} were used");
}

/// Checks that eight requests without a key reach all servers.
fn assert_in_turn(weir: &Weir, target: &str, lines: &str) {
    let mut client = weir.client();
    let request = format!("GET {target} HTTP/1.1\r\nHost: web.example\r\n{lines}\r\n");
    // One connection stays with one worker and its round-robin cursor.
    let one = |client: &mut RawClient| client.exchange(&request).header("x-origin").unwrap().to_owned();
    let servers: BTreeSet<_> = (0..8).map(|_| one(&mut client)).collect();
    assert_eq!(servers.len(), NAMES.len(), "only {servers:?}");
}

#[test]
fn a_uri_keeps_its_server_and_its_query_does_not_count() {
    for algorithm in ["hash", "ring", "maglev", "rendezvous", "ketama", "nginx-hash", "ipvs-sh", "ipvs-mh"] {
        let (weir, _origins) = start(&format!("{{ algorithm = \"{algorithm}\", key = \"uri\" }}"));
        assert_kept(&weir, |key| (format!("/images/{key}.png?size={key}"), String::new()));
        assert_eq!(server(&weir, "/x?page=1", ""), server(&weir, "/x?page=2", ""), "{algorithm}");
    }
}

#[test]
fn of_a_uri_as_much_counts_as_is_said() {
    let (weir, _origins) = start("{ algorithm = \"hash\", key = \"uri\", depth = 2, function = \"crc32\" }");
    let of = |target: String| server(&weir, &target, "");
    for user in 0..10 {
        assert_eq!(of(format!("/home/{user}/a")), of(format!("/home/{user}/b/c")));
    }
    assert_kept(&weir, |key| (format!("/home/{key}/file"), String::new()));
}

#[test]
fn a_server_that_moves_keeps_its_keys_where_points_come_from_names() {
    let (weir, _origins) = start("{ algorithm = \"ring\", key = \"uri\", points = \"name\" }");
    let of = || (0..40).map(|key| server(&weir, &format!("/images/{key}.png"), "")).collect::<Vec<_>>();
    let before = of();
    // Expected servers by HAProxy's formula for `hash-key guid`.
    assert_eq!(before.concat(), "cdbccdcdbaacbbcbbcccdbcbddcdccacaaccbcdd");
    let moved = origin("moved");
    let to = moved.addr().to_string();
    weir.obey(&json!({"server-address": {"pool": "web", "server": "a", "address": to}}));
    let new = |name: &String| if name == "a" { "moved".to_owned() } else { name.clone() };
    let expected: Vec<String> = before.iter().map(new).collect();
    wait_until("its keys have moved with it, and no others", PATIENCE, || of() == expected);
}

#[test]
fn a_host_keeps_its_server_whatever_is_asked_of_it() {
    for algorithm in ["ring", "maglev"] {
        let (weir, _origins) = start(&format!("{{ algorithm = \"{algorithm}\", key = \"host\" }}"));
        let of = |host: &str, target: &str| {
            let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            weir.client().exchange(request).header("x-origin").unwrap().to_owned()
        };
        let mut used = BTreeSet::new();
        for site in 0..40 {
            let host = format!("site{site}.example");
            let first = of(&host, "/");
            assert_eq!(of(&host, &format!("/{site}?a={site}")), first, "{algorithm}: {host}");
            assert_eq!(of(&format!("SITE{site}.example:8080"), "/"), first, "{algorithm}: {host}");
            used.insert(first);
        }
        assert_eq!(used.len(), NAMES.len(), "{algorithm}: only {used:?}");
    }
}

#[test]
fn a_path_keeps_its_server_whatever_its_host_and_query() {
    let (weir, _origins) = start("{ algorithm = \"rendezvous\", key = \"path\" }");
    let of = |host: &str, target: &str| {
        let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        weir.client().exchange(request).header("x-origin").unwrap().to_owned()
    };
    let mut used = BTreeSet::new();
    for page in 0..40 {
        let first = of("a.example", &format!("/page/{page}"));
        assert_eq!(of("b.example", &format!("/page/{page}?x={page}")), first, "page {page}");
        used.insert(first);
    }
    assert_eq!(used.len(), NAMES.len(), "only {used:?}");
}

#[test]
fn a_header_keeps_its_server_and_without_it_servers_take_turns() {
    let (weir, _origins) = start("{ algorithm = \"ring\", key = \"header X-Tenant\" }");
    assert_kept(&weir, |key| ("/".to_owned(), format!("x-tenant: tenant-{key}\r\n")));
    assert_in_turn_somehow(&weir);
}

/// Checks that requests without a key reach all servers. On a ring, they take the points in turn.
fn assert_in_turn_somehow(weir: &Weir) {
    let servers: BTreeSet<_> = (0..60).map(|_| server(weir, "/", "")).collect();
    assert_eq!(servers.len(), NAMES.len(), "only {servers:?}");
}

#[test]
fn a_cookie_keeps_its_server_wherever_it_stands() {
    let (weir, _origins) = start("{ algorithm = \"hash\", key = \"cookie session\", avalanche = true }");
    assert_kept(&weir, |key| ("/".to_owned(), format!("Cookie: theme=dark; session=id{key}\r\n")));
    assert_eq!(
        server(&weir, "/", "Cookie: session=id7\r\n"),
        server(&weir, "/", "Cookie: x=1\r\nCookie: mysession=no; session=id7; y=2\r\n")
    );
    assert_in_turn(&weir, "/", "Cookie: theme=dark\r\n");
}

#[test]
fn a_parameter_keeps_its_server_wherever_it_stands() {
    let (weir, _origins) = start("{ algorithm = \"hash\", key = \"url-param user\", function = \"wt6\" }");
    assert_kept(&weir, |key| (format!("/page?a=1&user=u{key}"), String::new()));
    assert_eq!(server(&weir, "/page?user=u7", ""), server(&weir, "/other?superuser=1&user=u7&b", ""));
    assert_in_turn(&weir, "/page?superuser=1", "");
}

#[test]
fn an_expression_may_be_the_key() {
    let key = "{ expression = \"headers['x-a'] + headers['x-b']\" }";
    let (weir, _origins) = start(&format!("{{ algorithm = \"hash\", key = {key} }}"));
    assert_kept(&weir, |key| ("/".to_owned(), format!("X-A: {key}\r\nX-B: b\r\n")));
    assert_eq!(server(&weir, "/", "X-A: ab\r\nX-B: c\r\n"), server(&weir, "/", "X-A: a\r\nX-B: bc\r\n"));
    assert_in_turn(&weir, "/", "X-A: alone\r\n");
}

#[test]
fn explain_names_the_server_that_the_proxy_chooses() {
    let (weir, _origins) = start("{ algorithm = \"maglev\", key = \"header X-Tenant\" }");
    for tenant in 0..10 {
        let line = format!("X-Tenant: t{tenant}");
        let port = weir.addr("web").port().to_string();
        // The config has port 0, which would match any listener.
        let mut command = Command::new(weir_e2e::program());
        command.arg("explain").arg(weir.config());
        command.args(["--url", &format!("http://web.example:{port}/"), "--listener", "web", "-H", &line]);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let chosen = server(&weir, "/", &format!("{line}\r\n"));
        assert!(text.contains(&format!("server    {chosen} (")), "{chosen}: {text}");
        assert!(text.contains("by its header X-Tenant (hash "), "{text}");
    }
}

#[test]
fn a_reload_changes_what_requests_are_kept_together_by() {
    let (mut weir, origins) = start("{ algorithm = \"hash\", key = \"uri\" }");
    assert_kept(&weir, |key| (format!("/{key}"), String::new()));
    weir.reload(&config(&origins, "{ algorithm = \"hash\", key = \"header X-Tenant\" }"));
    assert_kept(&weir, |key| ("/".to_owned(), format!("X-Tenant: {key}\r\n")));
    assert_in_turn(&weir, "/7", "");
}

#[test]
fn a_server_at_its_bound_leaves_its_key_to_the_next() {
    for algorithm in ["ring", "ketama"] {
        assert_bounded(algorithm);
    }
}

fn assert_bounded(algorithm: &str) {
    let balance = format!("{{ algorithm = \"{algorithm}\", key = \"uri\", bounded-load = \"125%\" }}");
    let (weir, origins) = start(&balance);
    let active = || origins.iter().map(OriginHandle::active).collect::<Vec<_>>();
    let mut hanging = Vec::new();
    for count in 1..=8 {
        let mut client = weir.client();
        client.send("GET /hang HTTP/1.1\r\nHost: h\r\n\r\n");
        hanging.push(client);
        wait_until("the request arrives", PATIENCE, || active().iter().sum::<u64>() == count);
    }
    // The bound is ceil(8 * 1.25) = 10 requests: 2 or 3 for each of four servers.
    let active = active();
    assert!(active.iter().all(|requests| *requests <= 3), "{active:?}");
}

#[test]
fn a_remote_desktop_user_keeps_the_server() {
    let servers = NAMES.map(|name| {
        RawServer::start(move |peer| {
            peer.take(19)?;
            peer.send(name)?;
            peer.take_to_end().map(drop)
        })
    });
    let listed: Vec<String> = servers.iter().map(|server| format!("\"{}\"", server.addr())).collect();
    let weir = Weir::start(&format!(
        "[listener.rdp]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\npool = \"rdp\"\n\n[pool.rdp]\n\
         balance = {{ algorithm = \"hash\", key = \"rdp-cookie\", avalanche = true }}\nservers = [{}]\n",
        listed.join(", ")
    ));
    let who = |user: &str, pieces: usize| {
        let mut client = RawClient::connect(weir.addr("rdp"));
        let mut request = vec![3, 0, 0, 43, 38, 0xe0, 0, 0, 0, 0, 0];
        request.extend_from_slice(format!("Cookie: mstshash={user}\r\n").as_bytes());
        for piece in request.chunks(request.len().div_ceil(pieces)) {
            client.send(piece);
        }
        client.read_exact(1)
    };
    let mut used = BTreeSet::new();
    for user in 0..30 {
        let user = format!("user{user}");
        let first = who(&user, 1);
        assert_eq!(who(&user, 5), first, "{user}");
        used.insert(first);
    }
    assert_eq!(used.len(), NAMES.len(), "only {used:?} were used");
    // A client that speaks another protocol is balanced in turn, without delay.
    let mut client = RawClient::connect(weir.addr("rdp"));
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(client.read_exact(1).len(), 1);
}

/// Returns the complaint of `weir check` about a pool with this `balance` and a listener in this mode.
fn complaint(mode: &str, balance: &str) -> String {
    let directory = TempDir::new().unwrap();
    let config = directory.path().join("weir.toml");
    let text = format!(
        "[listener.web]\nbind = \":8080\"\nmode = \"{mode}\"\npool = \"web\"\n\n[pool.web]\nbalance = {balance}\nservers = \"10.0.0.1:80\"\n"
    );
    std::fs::write(&config, text).unwrap();
    let mut command = Command::new(weir_e2e::program());
    let output = command.arg("check").arg(&config).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{balance}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_wrong_key_is_pointed_at() {
    let says = |mode, balance: &str, parts: &[&str]| {
        let text = complaint(mode, balance);
        assert!(parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
    };
    says("http", "{ algorithm = \"hash\", key = \"hdr X\" }", &["\"hdr\" is not a key", "header NAME"]);
    says("http", "{ algorithm = \"hash\", key = \"header\" }", &["header of which name?"]);
    says("http", "{ algorithm = \"ring\", bounded-load = \"90%\" }", &["bounded-load", "101%"]);
    says("http", "{ algorithm = \"ring\", bounded-load = 90 }", &["bounded-load", "expected a share"]);
    says("http", "{ algorithm = \"ring\", points = \"guid\" }", &["points", "\"guid\"", "\"name\""]);
    says("http", "{ key = \"uri\" }", &["algorithm is missing"]);
    says(
        "tcp",
        "{ algorithm = \"hash\", key = \"uri\" }",
        &["a TCP listener sees none", "weir.toml:4", "the key of the pool"],
    );
    says(
        "http",
        "{ algorithm = \"hash\", key = \"rdp-cookie\" }",
        &["HTTP requests do not have", "the key of the pool"],
    );
}
