//! Tests Unix sockets, for clients and for servers.

use std::os::unix::fs::FileTypeExt;

use weir_e2e::{Weir, get};
use weir_testkit::{RawClient, RawServer, TempDir};

#[test]
fn a_listener_and_a_server_can_be_unix_sockets() {
    let directory = TempDir::new().unwrap();
    let (front, back) = (directory.path().join("front.sock"), directory.path().join("back.sock"));
    let server = RawServer::start_on_unix(&back, |peer| {
        while let Ok(request) = peer.request() {
            peer.respond(request.body)?;
        }
        Ok(())
    });
    let config = format!(
        "[listener.web]\nbind = [\"unix:{}\", \"127.0.0.1:0\"]\npool = \"web\"\n\n[pool.web]\nservers = \"unix:{}\"\n",
        front.display(),
        back.display()
    );
    let mut weir = Weir::start(&config);
    let body = "x".repeat(300_000);
    let put = format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    for mut client in [RawClient::connect_unix(&front), weir.client()] {
        for _ in 0..3 {
            assert!(client.exchange(&put).text() == body);
            assert_eq!(client.exchange(get("/")).status, 200);
        }
    }
    let received = String::from_utf8(server.received_in_all()).unwrap();
    assert!(received.contains("X-Forwarded-For: 127.0.0.1\r\n"), "the TCP client's address is told");
    assert_eq!(weir.stop().code(), Some(0));
    assert!(!front.exists(), "the socket file is still there");
}

#[test]
fn a_socket_file_that_a_dead_process_left_is_replaced() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("front.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.symlink_metadata().unwrap().file_type().is_socket());
    let server = RawServer::answering("hi");
    let config = format!(
        "[listener.web]\nbind = \"unix:{}\"\npool = \"web\"\n\n[pool.web]\nservers = \"{}\"\n",
        path.display(),
        server.addr()
    );
    let _weir = Weir::start(&config);
    assert_eq!(RawClient::connect_unix(&path).exchange(get("/")).status, 200);
}

#[test]
fn a_file_that_is_no_socket_is_not_replaced() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("precious");
    std::fs::write(&path, "data").unwrap();
    let config = format!(
        "[listener.web]\nbind = \"unix:{}\"\npool = \"web\"\n\n[pool.web]\nservers = \"127.0.0.1:9\"\n",
        path.display()
    );
    let mut weir = Weir::launcher(&config).spawn();
    assert_eq!(weir.wait().code(), Some(2));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "data");
}

#[test]
fn a_socket_that_nobody_listens_at_gives_502_or_503() {
    let directory = TempDir::new().unwrap();
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = \"unix:{}/none.sock\"\n",
        directory.path().display()
    );
    let weir = Weir::start(&config);
    let status = weir.client().exchange(get("/")).status;
    assert!(matches!(status, 502 | 503), "{status}");
}
