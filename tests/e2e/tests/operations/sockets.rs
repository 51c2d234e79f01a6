//! Tests of listening sockets during reloads: connected clients are served, whatever happens to their
//! listener.

use std::net::SocketAddr;
use std::time::Duration;

use weir_e2e::{Weir, get, web};
use weir_testkit::{PATIENCE, RawClient, RawServer, ResponseError, Signal, TempDir, wait_until};

/// Returns the config with the port that the kernel chose, and optionally a second listener on a fixed port.
fn two_listeners(server: &RawServer, weir: &Weir, second: Option<SocketAddr>) -> String {
    let config = web(&[server.addr()]).replace("127.0.0.1:0", &weir.addr("web").to_string());
    match second {
        Some(address) => format!("[listener.more]\nbind = \"{address}\"\npool = \"web\"\n\n{config}"),
        None => config,
    }
}

/// Connects clients that send nothing. Their handshake is complete from their own view. The kernel holds back
/// the clients of an HTTP listener for a second.
fn silent_clients(address: SocketAddr) -> Vec<RawClient> {
    (0..20).map(|_| RawClient::connect(address)).collect()
}

fn all_are_answered(clients: &mut [RawClient], what: &str) {
    for client in clients.iter_mut() {
        client.try_send(get("/")).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    for (index, client) in clients.iter_mut().enumerate() {
        match client.try_response() {
            Ok(response) => assert_eq!(response.text(), "hi", "{what}, client {index}"),
            Err(error) => panic!("{what}, client {index}: {error}"),
        }
    }
}

#[test]
fn who_has_connected_and_not_yet_asked_notices_no_change_of_the_listener() {
    let server = RawServer::answering("hi");
    let mut weir = Weir::start(&web(&[server.addr()]));
    let address = weir.addr("web");
    let config = two_listeners(&server, &weir, None);
    let changes = [
        ("another backlog", config.replace("pool = \"web\"", "backlog = 77\npool = \"web\"")),
        ("bytes instead of HTTP", config.replace("pool = \"web\"", "mode = \"tcp\"\npool = \"web\"")),
        ("HTTP again", config.clone()),
        ("another name", config.replace("listener.web", "listener.www")),
        ("the old name", config),
    ];
    for (what, changed) in changes {
        let mut silent = silent_clients(address);
        weir.reload(&changed);
        all_are_answered(&mut silent, what);
        assert_eq!(RawClient::connect(address).exchange(get("/")).text(), "hi", "{what}");
    }
    let opened = weir.log().iter().filter(|line| line.contains(&address.to_string())).count();
    assert_eq!(opened, 1, "no socket was opened anew: {:#?}", weir.log());
}

#[test]
fn who_has_connected_to_a_listener_that_goes_is_answered() {
    let server = RawServer::answering("hi");
    let mut weir = Weir::start(&web(&[server.addr()]));
    let more: SocketAddr = "127.0.0.1:0".parse().unwrap();
    for asks_at_once in [true, false] {
        weir.reload(&two_listeners(&server, &weir, Some(more)));
        let more = *weir.addrs("more").last().unwrap();
        let mut silent = silent_clients(more);
        weir.reload(&two_listeners(&server, &weir, None));
        if asks_at_once {
            all_are_answered(&mut silent, "at once");
        }
        wait_until("nobody accepts any more", PATIENCE, || RawClient::try_connect(more).is_err());
        if !asks_at_once {
            all_are_answered(&mut silent, "after the socket was closed");
        }
    }
}

#[test]
fn who_is_in_the_queue_of_a_listener_that_goes_or_is_renamed_is_answered() {
    let server = RawServer::answering("hi");
    let mut weir = Weir::start(&web(&[server.addr()]));
    for _ in 0..5 {
        weir.reload(&two_listeners(&server, &weir, Some("127.0.0.1:0".parse().unwrap())));
        let (first, more) = (weir.addr("web"), *weir.addrs("more").last().unwrap());
        // While Weir is stopped, it accepts no client. When it continues, it finds the signal and all clients
        // at once.
        weir.signal(Signal::STOP);
        let mut queued = silent_clients(first);
        queued.extend(silent_clients(more));
        for client in &mut queued {
            client.send(get("/"));
        }
        let renamed = two_listeners(&server, &weir, None).replace("listener.web", "listener.www");
        weir.reload_and(&renamed, |weir| weir.signal(Signal::CONT));
        for client in &mut queued {
            assert_eq!(client.response().text(), "hi");
        }
    }
}

#[test]
fn a_unix_socket_keeps_its_path_and_its_clients_when_its_listener_is_renamed() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("front.sock");
    let server = RawServer::answering("hi");
    let config = format!(
        "[listener.web]\nbind = \"unix:{}\"\npool = \"web\"\n\n[pool.web]\nservers = \"{}\"\n",
        path.display(),
        server.addr()
    );
    let mut weir = Weir::start(&config);
    let mut kept = RawClient::connect_unix(&path);
    for name in ["www", "web"] {
        let mut silent = RawClient::connect_unix(&path);
        weir.reload(&config.replace("[listener.web]", &format!("[listener.{name}]\nbacklog = 50")));
        assert_eq!(silent.exchange(get("/")).text(), "hi");
        assert_eq!(RawClient::connect_unix(&path).exchange(get("/")).text(), "hi");
    }
    // This connection was open before the reload and has sent nothing since.
    assert_eq!(kept.exchange(get("/")).text(), "hi");
}

#[test]
fn a_server_that_speaks_first_is_heard_at_once_after_its_listener_spoke_http() {
    let server = RawServer::start(|peer| {
        peer.send("220 hello\r\n")?;
        peer.hold();
        Ok(())
    });
    let http = web(&[server.addr()]);
    let mut weir = Weir::start(&http);
    let tcp = http.replace("pool = \"web\"", "mode = \"tcp\"\npool = \"web\"");
    let tcp = tcp.replace("127.0.0.1:0", &weir.addr("web").to_string());
    let of_nobody = "[listener.web.proxy-protocol]\nfrom = \"10.0.0.0/8\"\n";
    for config in [format!("{tcp}{of_nobody}"), tcp] {
        weir.reload(&config);
        // With HTTP, Weir lets the kernel hold back silent clients for a second.
        wait_until("the greeting comes at once", PATIENCE, || {
            let mut client = weir.client().timeout(Duration::from_millis(500));
            match client.try_response() {
                Err(ResponseError::Timeout(came) | ResponseError::Malformed(_, came)) => !came.is_empty(),
                other => panic!("{other:?}"),
            }
        });
    }
}

#[test]
fn who_has_connected_and_not_yet_asked_is_answered_when_weir_stops() {
    let server = RawServer::answering("hi");
    let mut weir = Weir::start(&web(&[server.addr()]));
    let mut silent = silent_clients(weir.addr("web"));
    weir.signal(Signal::TERM);
    weir.wait_for_log("weir: stopping");
    all_are_answered(&mut silent, "while it stops");
    assert_eq!(weir.wait().code(), Some(0));
}
