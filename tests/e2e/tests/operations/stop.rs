//! Tests of the stop by SIGTERM: Weir accepts no new connections, finishes active requests, and ends.

use std::thread;
use std::time::Duration;

use weir_e2e::{Weir, get, web};
use weir_testkit::{Ending, PATIENCE, RawClient, RawServer, ResponseError, Signal, wait_until};

const UPGRADE: &str = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

/// A Close frame without a mask: 1001, "going away".
const GOING_AWAY: [u8; 4] = [0x88, 2, 0x03, 0xe9];

/// Converts a client's frame with a payload of two bytes to the form that a server sends.
fn unmasked(frame: &[u8]) -> [u8; 4] {
    assert_eq!((frame.len(), frame[1]), (8, 0x82), "{frame:?}");
    [frame[0], 2, frame[6] ^ frame[2], frame[7] ^ frame[3]]
}

#[test]
fn an_idle_weir_ends_with_0() {
    for signal in [Signal::TERM, Signal::INT] {
        let server = RawServer::answering("hi");
        let mut weir = Weir::start(&web(&[server.addr()]));
        let mut idle = weir.client();
        assert_eq!(idle.exchange(get("/")).status, 200);
        weir.signal(signal);
        assert_eq!(weir.wait().code(), Some(0));
        assert_eq!(idle.ending(), Ending::Fin);
    }
}

#[test]
fn requests_in_flight_are_finished_and_say_close() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let server = RawServer::start(move |peer| {
        peer.request()?;
        let _ = wait.lock().unwrap().recv();
        peer.respond("done")?;
        peer.hold();
        Ok(())
    });
    let mut weir = Weir::start(&web(&[server.addr()]));
    let addr = weir.addr("web");
    let mut busy = weir.client();
    busy.send(get("/"));
    server.wait_for_bytes(0, 10);
    weir.signal(Signal::TERM);
    wait_until("nobody accepts any more", PATIENCE, || RawClient::try_connect(addr).is_err());
    go.send(()).unwrap();
    let response = busy.response();
    assert_eq!(response.text(), "done");
    assert!(response.says_close(), "{:?}", response.headers);
    assert_eq!(busy.ending(), Ending::Fin);
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn bodies_in_flight_are_finished_in_both_directions() {
    let server = RawServer::start(|peer| {
        let request = peer.request()?;
        peer.respond(request.body)?;
        peer.hold();
        Ok(())
    });
    let mut weir = Weir::start(&web(&[server.addr()]));
    let addr = weir.addr("web");
    let mut client = weir.client();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n").send(vec![b'x'; 500_000]);
    server.wait_for_bytes(0, 100_000);
    weir.signal(Signal::TERM);
    wait_until("nobody accepts any more", PATIENCE, || RawClient::try_connect(addr).is_err());
    let response = client.exchange(vec![b'x'; 500_000]);
    assert_eq!((response.status, response.body.len()), (200, 1_000_000));
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn a_request_that_was_sent_just_before_is_served() {
    // Connections in the kernel's queue already belong to Weir: they must not be reset.
    for _ in 0..5 {
        let server = RawServer::answering("hi");
        let mut weir = Weir::start(&web(&[server.addr()]));
        let mut clients: Vec<RawClient> = (0..50)
            .map(|_| {
                let mut client = weir.client();
                client.send(get("/"));
                client
            })
            .collect();
        weir.signal(Signal::TERM);
        for client in &mut clients {
            assert_eq!(client.response().status, 200);
        }
        assert_eq!(weir.wait().code(), Some(0));
    }
}

/// Time between the connect of a client and its request.
const THOUGHT: Duration = Duration::from_millis(100);

#[test]
fn whoever_could_connect_is_served_up_to_the_last_one() {
    let server = RawServer::answering("hi");
    for proxied in ["", "mode = \"tcp\"\n"] {
        let config = web(&[server.addr()]).replace("pool = \"web\"\n", &format!("pool = \"web\"\n{proxied}"));
        let mut weir = Weir::start(&config);
        let addr = weir.addr("web");
        weir.signal(Signal::TERM);
        let statuses: Vec<u16> = thread::scope(|scope| {
            let mut clients = Vec::new();
            // Connects until Weir accepts no more. A connection that is refused or never accepted has lost
            // nothing.
            while let Ok(mut client) = RawClient::try_connect(addr) {
                clients.push(scope.spawn(move || {
                    thread::sleep(THOUGHT);
                    client.exchange(get("/")).status
                }));
                thread::sleep(Duration::from_millis(5));
            }
            clients.into_iter().map(|client| client.join().unwrap()).collect()
        });
        assert!(statuses.len() > 10, "{} clients came in", statuses.len());
        assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
        assert_eq!(weir.wait().code(), Some(0));
    }
}

#[test]
fn clients_that_keep_asking_lose_nothing_when_weir_stops() {
    let server = RawServer::answering("hi");
    let mut weir = Weir::start(&web(&[server.addr()]));
    let addr = weir.addr("web");
    let (started, all_started) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..8 {
            let started = started.clone();
            scope.spawn(move || {
                let mut client = RawClient::connect(addr);
                assert_eq!(client.exchange(get("/")).status, 200);
                started.send(()).unwrap();
                // Sends requests until a response says close: no request may stay without a response.
                while !client.exchange(get("/")).says_close() {}
                assert_eq!(client.ending(), Ending::Fin);
            });
        }
        for _ in 0..8 {
            all_started.recv().unwrap();
        }
        weir.signal(Signal::TERM);
    });
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn after_the_deadline_what_is_left_is_cut() {
    let server = RawServer::silent();
    let config = format!("{}[weir]\ndrain-timeout = \"400ms\"\n", web(&[server.addr()]));
    let mut weir = Weir::start(&config);
    let mut stuck = weir.client();
    stuck.send(get("/"));
    server.wait_for_bytes(0, 10);
    assert_eq!(weir.stop().code(), Some(0));
    assert!(matches!(stuck.try_response(), Err(ResponseError::Nothing(_)) | Ok(_)));
}

#[test]
fn tunnels_go_on_until_the_deadline_and_are_then_ended() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send(SWITCH)?;
        assert_eq!(unmasked(&peer.take(8)?), [0x81, 2, b'h', b'i']);
        peer.send([0x81, 2, b'y', b'o'])?;
        assert_eq!(unmasked(&peer.take(8)?), GOING_AWAY);
        peer.send(GOING_AWAY)?;
        assert_eq!(peer.take_to_end()?, (Vec::new(), Ending::Fin));
        Ok(())
    });
    // Longer than a new client takes to notice that Weir no longer accepts.
    let config = format!("{}[weir]\ndrain-timeout = \"4s\"\n", web(&[server.addr()]));
    let mut weir = Weir::start(&config);
    let addr = weir.addr("web");
    let mut client = weir.client();
    assert_eq!(client.exchange(UPGRADE).status, 101);
    weir.signal(Signal::TERM);
    wait_until("nobody accepts any more", PATIENCE, || RawClient::try_connect(addr).is_err());
    client.send([0x81, 0x82, 1, 2, 3, 4, b'h' ^ 1, b'i' ^ 2]);
    assert_eq!(client.read_exact(4), [0x81, 2, b'y', b'o']);
    assert_eq!(client.read_exact(4), GOING_AWAY);
    client.send([0x88, 0x82, 5, 6, 7, 8, 0x03 ^ 5, 0xe9 ^ 6]);
    assert_eq!(client.read_to_end(), (Vec::new(), Ending::Fin));
    assert_eq!(weir.wait().code(), Some(0));
    server.wait_for_end(0);
    assert_eq!(server.failures(), Vec::<String>::new());
}

#[test]
fn a_side_that_is_within_a_frame_at_the_deadline_is_told_nothing_nor_is_one_of_another_protocol() {
    let server = RawServer::start(|peer| {
        let head = String::from_utf8(peer.head()?).unwrap();
        peer.send(if head.contains("irc") { SWITCH.replace("websocket", "irc") } else { SWITCH.to_owned() })?;
        assert_eq!(peer.take_to_end()?, (b"\x81\x85half".to_vec(), Ending::Fin));
        Ok(())
    });
    let config = format!("{}[weir]\ndrain-timeout = \"1s\"\n", web(&[server.addr()]));
    let mut weir = Weir::start(&config);
    let mut clients: Vec<RawClient> = ["websocket", "irc"]
        .into_iter()
        .map(|protocol| {
            let mut client = weir.client();
            assert_eq!(client.exchange(UPGRADE.replace("websocket", protocol)).status, 101);
            client.send(b"\x81\x85half");
            client
        })
        .collect();
    weir.signal(Signal::TERM);
    // The frames that the first client has received are complete.
    assert_eq!(clients[0].read_to_end(), (GOING_AWAY.to_vec(), Ending::Fin));
    assert_eq!(clients[1].read_to_end(), (Vec::new(), Ending::Fin));
    assert_eq!(weir.wait().code(), Some(0));
    server.wait_for_end(1);
    assert_eq!(server.failures(), Vec::<String>::new());
}

#[test]
fn a_second_signal_does_not_wait() {
    let server = RawServer::silent();
    let config = format!("{}[weir]\ndrain-timeout = \"10m\"\n", web(&[server.addr()]));
    let mut weir = Weir::start(&config);
    let addr = weir.addr("web");
    let mut stuck = weir.client();
    stuck.send(get("/"));
    server.wait_for_bytes(0, 10);
    weir.signal(Signal::TERM);
    wait_until("nobody accepts any more", PATIENCE, || RawClient::try_connect(addr).is_err());
    weir.signal(Signal::TERM);
    weir.wait();
}

/// Start of a TLS client's first message, without the rest.
const HALF_A_CLIENT_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

#[test]
fn whatever_a_client_leaves_half_done_is_cut_at_the_deadline() {
    use weir_testkit::certificates::{Authority, Request};
    let server = RawServer::answering("hi");
    let directory = weir_testkit::TempDir::new().unwrap();
    let files = Authority::new("test").issue(&Request::names(&["a.example"])).write_to(directory.path(), "a");
    // Longer than any test waits.
    let timeouts = "timeouts = { head = \"10m\", body = \"10m\" }\n";
    let web = web(&[server.addr()]).replace("\n\n[pool", &format!("\n{timeouts}\n[pool"));
    let tls = format!(
        "{web}[listener.web.tls]\ncertificates = {{ certificate = \"{}\", key = \"{}\" }}\n",
        files.certificate.display(),
        files.key.display()
    );
    let proxied = format!("{web}[listener.web.proxy-protocol]\nfrom = \"127.0.0.0/8\"\n");
    let large = format!(
        "{web}[[route]]\npath = \"/large\"\nrespond = {{ status = 200, body = \"{}\" }}\n",
        "x".repeat(8_000_000)
    );
    let by_name = "[listener.web]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\ntimeouts = { head = \"10m\" }\n\
                   sni = [{ host = \"a.example\", pool = \"web\" }]\n\n[pool.web]\nservers = \"127.0.0.1:9\"\n";
    let cases: [(&str, &str, &[u8]); 5] = [
        ("a head", &web, b"GET / HTTP/1.1\r\nHo"),
        ("a TLS handshake", &tls, HALF_A_CLIENT_HELLO),
        ("a PROXY header", &proxied, b"PROXY TCP4 1"),
        ("an answer that is not read", &large, b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a server name", by_name, HALF_A_CLIENT_HELLO),
    ];
    for (what, config, bytes) in cases {
        let config = format!("{config}[weir]\ndrain-timeout = \"500ms\"\n");
        let mut weir = Weir::start(&config);
        let mut client = weir.client().receive_buffer(4 * 1024);
        client.send(bytes);
        let open = || weir.metrics().get("weir_listener_connections", &["listener=\"web\""]);
        wait_until("it is open", PATIENCE, || open() == 1.0);
        assert_eq!(weir.stop().code(), Some(0), "{what}");
        let (_, ending) = client.read_to_end();
        assert!(matches!(ending, Ending::Fin | Ending::Reset), "{what}: {ending:?}");
        assert!(!weir.log().iter().any(|line| line.contains("left behind")), "{what}");
    }
}

#[test]
fn nothing_is_left_behind() {
    let server = RawServer::answering("hi");
    let mut weir = Weir::start(&web(&[server.addr()]));
    assert!(weir.control().exists());
    assert_eq!(weir.stop().code(), Some(0));
    assert!(!weir.control().exists(), "the control socket is still there");
}
