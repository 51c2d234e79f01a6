//! Tests that routes, expressions, templates and every format of the log use the same client address.

use weir_testkit::{RawServer, Response};

use crate::access_log::Logged;

const BEHIND: &str = "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.5, 198.51.100.9\r\n\r\n";

/// Starts a Weir that lets only the client 198.51.100.9 reach the server (by an expression) or the redirect
/// (by a network).
fn start(server: &RawServer, format: &str) -> Logged {
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\nforwarded = {{ trusted = \"127.0.0.0/8\" }}\n\n\
         [[route]]\npath = \"/moved\"\nclient = \"198.51.100.9\"\nredirect = \"http://{{client_ip}}/\"\n\n\
         [[route]]\nwhen = \"client_ip == '198.51.100.9'\"\npool = \"web\"\n\
         request-headers = {{ set = {{ X-Client = \"{{client_ip}} {{client_port}}.\" }} }}\n\
         response-headers = {{ set = {{ X-Client = \"{{client_ip}}\" }} }}\n\n\
         [pool.web]\nservers = \"{}\"\n",
        server.addr()
    );
    Logged::start(&config, format)
}

fn client_of(response: &Response) -> (u16, Option<&str>) {
    (response.status, response.header("x-client"))
}

#[test]
fn the_client_that_a_trusted_proxy_names_is_the_one_in_headers_and_in_every_log() {
    let starts = [
        ("common", "198.51.100.9 - - ["),
        ("combined", "198.51.100.9 - - ["),
        ("httplog", "198.51.100.9:0 ["),
        ("json", "{\"time\":"),
    ];
    for (format, start_of_line) in starts {
        let server = RawServer::answering("hi");
        let logged = start(&server, format);
        let mut client = logged.weir.client();
        let port = client.local_addr().port();
        assert_eq!(client_of(&client.exchange(BEHIND)), (200, Some("198.51.100.9")));
        let received = String::from_utf8(server.received_in_all()).unwrap();
        assert!(received.contains("\r\nX-Client: 198.51.100.9 .\r\n"), "{received}");
        let moved = client.exchange(BEHIND.replace("GET / ", "GET /moved "));
        assert_eq!((moved.status, moved.header("location")), (308, Some("http://198.51.100.9/")));
        for line in logged.lines(2) {
            assert!(line.starts_with(start_of_line), "{line}");
        }
        if format == "json" {
            for line in logged.json(2) {
                assert_eq!((&line["client"], line.get("client_port")), (&"198.51.100.9".into(), None));
                assert_eq!((&line["peer"], &line["peer_port"]), (&"127.0.0.1".into(), &port.into()));
            }
        }
    }
}

#[test]
fn a_trusted_peer_that_names_nobody_is_the_client_itself() {
    let server = RawServer::answering("hi");
    let logged = start(&server, "json");
    let mut client = logged.weir.client();
    let port = client.local_addr().port();
    assert_eq!(client.exchange(weir_e2e::get("/")).status, 404);
    let line = logged.json(1).remove(0);
    assert_eq!((&line["client"], &line["client_port"]), (&"127.0.0.1".into(), &port.into()));
    assert_eq!(line.get("peer"), None);
}

#[test]
fn nobody_is_believed_who_is_not_trusted() {
    let server = RawServer::answering("hi");
    let logged = Logged::start(&weir_e2e::web(&[server.addr()]), "json");
    assert_eq!(logged.weir.client().exchange(BEHIND).status, 200);
    let line = logged.json(1).remove(0);
    assert_eq!((&line["client"], line.get("peer")), (&"127.0.0.1".into(), None));
}
