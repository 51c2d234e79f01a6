//! Tests of a reload by SIGHUP: no client notices anything but the changes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use weir_e2e::{Weir, get, web};
use weir_testkit::{Ending, PATIENCE, RawClient, RawServer, Signal, wait_until};

const UPGRADE: &str = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

/// Returns the config with the port that the kernel chose, so that a reload keeps the listener.
pub(crate) fn fixed(config: &str, weir: &Weir) -> String {
    config.replace("127.0.0.1:0", &weir.addr("web").to_string())
}

/// Sends requests over kept and new connections until `run` returns; none may fail. Returns their number.
pub(crate) fn under_load(weir_addr: std::net::SocketAddr, run: impl FnOnce()) -> usize {
    let (over, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..6 {
            let (over, count) = (&over, &count);
            scope.spawn(move || {
                let mut kept = RawClient::connect(weir_addr);
                while !over.load(Ordering::SeqCst) {
                    let fresh = number % 2 == 1;
                    if fresh {
                        kept = RawClient::connect(weir_addr);
                    }
                    let response = kept.exchange(get("/"));
                    assert_eq!(response.status, 200);
                    if response.says_close() {
                        kept = RawClient::connect(weir_addr);
                    }
                    count.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        over.store(true, Ordering::SeqCst);
        ran.unwrap();
    });
    count.load(Ordering::SeqCst)
}

#[test]
fn no_request_fails_while_the_config_is_reloaded_again_and_again() {
    let servers = ["a", "b"].map(RawServer::answering);
    let first = web(&[servers[0].addr()]);
    let mut weir = Weir::start(&first);
    let first = fixed(&first, &weir);
    let second = fixed(&web(&[servers[1].addr()]), &weir);
    let addr = weir.addr("web");
    // From here on the listener stays the same; with port 0 it was another one.
    weir.reload(&first);
    let count = under_load(addr, || {
        for _ in 0..5 {
            weir.reload(&second);
            weir.reload(&first);
        }
    });
    assert!(count > 50, "{count} requests");
    assert!(!servers[1].received_in_all().is_empty());
}

#[test]
fn a_reload_changes_what_it_says_and_no_connection_ends() {
    let servers = ["a", "b"].map(RawServer::answering);
    let config = web(&[servers[0].addr()]);
    let mut weir = Weir::start(&config);
    let mut kept = weir.client();
    assert_eq!(kept.exchange(get("/")).text(), "a");
    weir.reload(&fixed(&web(&[servers[1].addr()]), &weir));
    // An open connection follows the new config from its next request on.
    let response = kept.exchange(get("/"));
    assert_eq!(response.text(), "b");
    assert!(!response.says_close());
}

#[test]
fn the_order_of_the_servers_is_that_of_the_new_config() {
    let [a, b, c] = ["a", "b", "c"].map(RawServer::answering);
    let config = |servers: &[&RawServer]| {
        let addresses: Vec<_> = servers.iter().map(|server| server.addr()).collect();
        format!("{}balance = \"first\"\n", web(&addresses))
    };
    let mut weir = Weir::start(&config(&[&a, &b]));
    assert_eq!(weir.client().exchange(get("/")).text(), "a");
    for (servers, first) in [([&c, &a, &b], "c"), ([&b, &c, &a], "b"), ([&a, &b, &c], "a")] {
        weir.reload(&fixed(&config(&servers), &weir));
        assert_eq!(weir.client().exchange(get("/")).text(), first);
    }
}

#[test]
fn a_request_in_flight_is_finished_by_the_server_that_has_it() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let leaving = RawServer::start(move |peer| {
        peer.request()?;
        let _ = wait.lock().unwrap().recv();
        peer.respond("from the old one")
    });
    let staying = RawServer::answering("from the new one");
    let mut weir = Weir::start(&web(&[leaving.addr()]));
    let mut client = weir.client();
    client.send(get("/"));
    leaving.wait_for_bytes(0, 10);
    weir.reload(&fixed(&web(&[staying.addr()]), &weir));
    assert_eq!(weir.client().exchange(get("/")).text(), "from the new one");
    go.send(()).unwrap();
    assert_eq!(client.response().text(), "from the old one");
    assert_eq!(client.exchange(get("/")).text(), "from the new one");
}

#[test]
fn a_bad_file_changes_nothing_and_says_why() {
    let server = RawServer::answering("hi");
    let config = web(&[server.addr()]);
    let mut weir = Weir::start(&config);
    let mut kept = weir.client();
    assert_eq!(kept.exchange(get("/")).status, 200);
    for (bad, named) in [("[listener.web\n", "weir.toml"), ("[pool.web]\nbalanse = \"random\"\n", "balanse")]
    {
        weir.write_config(bad);
        weir.signal(Signal::HUP);
        weir.wait_for_log(named);
        assert_eq!(kept.exchange(get("/")).status, 200);
        assert_eq!(weir.client().exchange(get("/")).status, 200);
    }
}

#[test]
fn a_listener_whose_address_is_taken_changes_nothing() {
    let server = RawServer::answering("hi");
    let taken = RawServer::answering("taken");
    let config = web(&[server.addr()]);
    let mut weir = Weir::start(&config);
    let more = format!("[listener.more]\nbind = \"{}\"\npool = \"web\"\n\n", taken.addr());
    weir.write_config(&format!("{more}{}", fixed(&config, &weir)));
    weir.signal(Signal::HUP);
    weir.wait_for_log(&taken.addr().to_string());
    assert_eq!(weir.client().exchange(get("/")).text(), "hi");
}

#[test]
fn listeners_can_be_added_and_removed() {
    let server = RawServer::answering("hi");
    let config = web(&[server.addr()]);
    let mut weir = Weir::start(&config);
    let config = fixed(&config, &weir);
    weir.reload(&format!("[listener.more]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n{config}"));
    weir.wait_for_log("listener more: ");
    let more = weir.addr("more");
    let mut kept = RawClient::connect(more);
    assert_eq!(kept.exchange(get("/")).status, 200);
    weir.reload(&config);
    wait_until("nobody accepts any more", PATIENCE, || RawClient::try_connect(more).is_err());
    // The connection closes with the response to the next request or while it is idle; it is never reset.
    match kept.try_send(get("/")).map(|()| kept.try_response()) {
        Ok(Ok(response)) => assert_eq!(response.status, 200),
        Ok(Err(weir_testkit::ResponseError::Nothing(_))) | Err(_) => {}
        Ok(Err(other)) => panic!("{other}"),
    }
    assert_eq!(weir.client().exchange(get("/")).status, 200);
}

#[test]
fn unchanged_servers_keep_their_connections_and_state() {
    let server = RawServer::answering("hi");
    let config = format!("{}[weir]\nworkers = 1\n", web(&[server.addr()]));
    let mut weir = Weir::start(&config);
    let mut client = weir.client();
    assert_eq!(client.exchange(get("/")).status, 200);
    let config = fixed(&config, &weir);
    for _ in 0..3 {
        weir.reload(&config);
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    assert_eq!(server.connections(), 1, "a reload that changes nothing opened a new connection");
}

#[test]
fn what_was_changed_at_runtime_survives_a_reload() {
    let servers = ["a", "b"].map(RawServer::answering);
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = [\
         {{ name = \"a\", address = \"{}\" }}, {{ name = \"b\", address = \"{}\" }}]\n",
        servers[0].addr(),
        servers[1].addr()
    );
    let mut weir = Weir::start(&config);
    weir.obey(&serde_json::json!({"server-state": {"pool": "web", "server": "a", "state": "drain"}}));
    weir.reload(&fixed(&config, &weir));
    for _ in 0..6 {
        assert_eq!(weir.client().exchange(get("/")).text(), "b");
    }
}

#[test]
fn a_tunnel_outlives_reloads() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send(SWITCH)?;
        loop {
            let byte = peer.take(1)?;
            peer.send(byte)?;
        }
    });
    let other = RawServer::answering("hi");
    let mut weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    assert_eq!(client.exchange(UPGRADE).status, 101);
    weir.reload(&fixed(&web(&[other.addr()]), &weir));
    assert_eq!(client.send("x").read_exact(1), b"x");
}

#[test]
fn a_large_pool_is_reloaded_quickly_under_load() {
    let server = RawServer::answering("hi");
    let many = |offset: u32| {
        // Loopback addresses where no server listens, with weight 0.
        let list: Vec<String> = (0..2_000u32)
            .map(|n| {
                let n = n + offset;
                format!(
                    "{{ address = \"127.{}.{}.{}:9\", weight = 0 }}",
                    1 + n / 65_536,
                    n / 256 % 256,
                    n % 256
                )
            })
            .collect();
        format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = [\"{}\", {}]\n",
            server.addr(),
            list.join(", ")
        )
    };
    let mut weir = Weir::start(&many(0));
    let first = fixed(&many(0), &weir);
    let next = fixed(&many(1_000), &weir);
    let addr = weir.addr("web");
    weir.reload(&first);
    let mut took = Duration::ZERO;
    under_load(addr, || {
        let start = Instant::now();
        weir.reload(&next);
        took = start.elapsed();
    });
    assert!(took < PATIENCE, "{took:?}");
}

#[test]
fn a_reload_is_also_a_command() {
    let servers = ["a", "b"].map(RawServer::answering);
    let config = web(&[servers[0].addr()]);
    let weir = Weir::start(&config);
    weir.write_config(&fixed(&web(&[servers[1].addr()]), &weir));
    weir.obey(&serde_json::json!("reload"));
    assert_eq!(weir.client().exchange(get("/")).text(), "b");
    weir.write_config("[listener.web\n");
    let reply = weir.command(&serde_json::json!("reload"));
    assert_eq!(reply["error"]["code"], "bad-config", "{reply}");
    let mut client = weir.client();
    assert_eq!(client.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").text(), "b");
    assert_eq!(client.ending(), Ending::Fin);
}

#[test]
fn a_port_that_is_written_out_after_the_kernel_chose_it_is_not_opened_anew() {
    let server = RawServer::answering("hi");
    let config = web(&[server.addr()]);
    let mut weir = Weir::start(&config);
    let config = fixed(&config, &weir);
    weir.reload(&config);
    assert_eq!(weir.client().exchange(get("/")).status, 200);
    weir.reload(&config);
    assert_eq!(weir.client().exchange(get("/")).status, 200);
    assert_eq!(weir.addrs("web").len(), 1, "{:#?}", weir.log());
}

#[test]
fn a_reload_moves_the_access_log_and_loses_no_line() {
    let directory = weir_testkit::TempDir::new().unwrap();
    let server = RawServer::answering("hi");
    let config = web(&[server.addr()]);
    let log = |name: &str| {
        format!("[access-log]\nformat = \"common\"\nto = \"{}/{name}\"\n", directory.path().display())
    };
    let mut weir = Weir::start(&format!("{config}{}", log("first")));
    let config = fixed(&config, &weir);
    for _ in 0..10 {
        assert_eq!(weir.client().exchange(get("/one")).status, 200);
    }
    weir.reload(&format!("{config}{}", log("second")));
    for _ in 0..10 {
        assert_eq!(weir.client().exchange(get("/two")).status, 200);
    }
    let count = |name: &str| {
        std::fs::read_to_string(directory.path().join(name)).map_or(0, |text| text.lines().count())
    };
    wait_until("every line in one of the files", PATIENCE, || count("first") + count("second") == 20);
    assert!(count("second") >= 10);
    weir.reload(&config);
    assert_eq!(weir.client().exchange(get("/three")).status, 200);
    assert_eq!(weir.stop().code(), Some(0));
    assert_eq!(count("first") + count("second"), 20);
}

#[test]
fn a_listener_can_begin_to_speak_tls() {
    use weir_testkit::certificates::{Authority, Request};
    let directory = weir_testkit::TempDir::new().unwrap();
    let authority = Authority::new("test");
    let files = authority.issue(&Request::names(&["a.example"])).write_to(directory.path(), "a");
    let ca = directory.path().join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    let server = RawServer::answering("hi");
    let config = web(&[server.addr()]);
    let mut weir = Weir::start(&config);
    let mut kept = weir.client();
    assert_eq!(kept.exchange(get("/")).status, 200);
    weir.reload(&format!(
        "{}[listener.web.tls]\ncertificates = {{ certificate = \"{}\", key = \"{}\" }}\n",
        fixed(&config, &weir),
        files.certificate.display(),
        files.key.display()
    ));
    let port = weir.addr("web").port();
    let curl = std::process::Command::new("curl")
        .args(["-sS", "--max-time", "10", "--resolve", &format!("a.example:{port}:127.0.0.1"), "--cacert"])
        .arg(&ca)
        .arg(format!("https://a.example:{port}/"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&curl.stdout), "hi", "{}", String::from_utf8_lossy(&curl.stderr));
    // A connection that was accepted without TLS stays without TLS.
    assert_eq!(kept.exchange(get("/")).status, 200);
}
