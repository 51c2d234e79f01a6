//! Tests the headers that tell servers about the client, and the client's own headers that Weir trusts.

use weir_e2e::{Weir, web};
use weir_testkit::RawServer;

use crate::{in_order, seen, values};

const LIE: &str = "GET / HTTP/1.1\r\nHost: a.example\r\nX-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: https\r\n\
                   X-Forwarded-Host: evil.example\r\nForwarded: for=9.9.9.9\r\nX-Remote-User: root\r\n\
                   X-VOMS-FQAN: /admin\r\nX_Forwarded_For: 9.9.9.9\r\nx_remote_user: root\r\n\
                   X.Remote.User: root\r\nX~VOMS~FQAN: /admin\r\nProxy: http://root.example\r\n\r\n";

fn start(forwarded: &str) -> (Weir, RawServer) {
    let server = RawServer::answering("hi");
    let config = in_order(&web(&[server.addr()]));
    let weir = Weir::start(&format!("{config}[listener.web.forwarded]\n{forwarded}\n"));
    (weir, server)
}

#[test]
fn by_default_the_clients_own_lines_are_replaced_and_identities_removed() {
    let (weir, server) = start("");
    let received = seen(&weir, &server, LIE);
    assert_eq!(values(&received, "x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(values(&received, "x-forwarded-proto"), ["http"]);
    assert_eq!(values(&received, "x-forwarded-host"), ["a.example"]);
    assert!(!received.contains("9.9.9.9"), "{received}");
    assert!(!received.contains("root") && !received.contains("/admin"), "{received}");
}

#[test]
fn append_adds_the_client_behind_what_came() {
    let (weir, server) = start("x-forwarded = \"append\"\nforwarded = \"append\"");
    let received = seen(&weir, &server, LIE);
    assert_eq!(values(&received, "x-forwarded-for"), ["9.9.9.9, 127.0.0.1"]);
    assert_eq!(values(&received, "forwarded"), ["for=9.9.9.9, for=127.0.0.1;host=a.example;proto=http"]);
}

#[test]
fn set_makes_a_forwarded_line_of_ones_own() {
    let (weir, server) = start("forwarded = \"set\"");
    let received = seen(&weir, &server, LIE);
    assert_eq!(values(&received, "forwarded"), ["for=127.0.0.1;host=a.example;proto=http"]);
}

#[test]
fn pass_and_remove_do_as_they_say() {
    let (weir, server) = start("x-forwarded = \"pass\"\nforwarded = \"pass\"");
    let received = seen(&weir, &server, LIE);
    assert_eq!(values(&received, "x-forwarded-for"), ["9.9.9.9"]);
    assert_eq!(values(&received, "forwarded"), ["for=9.9.9.9"]);
    let (weir, server) = start("x-forwarded = \"remove\"\nforwarded = \"remove\"");
    let received = seen(&weir, &server, LIE).to_lowercase();
    assert!(!received.contains("forwarded"), "{received}");
}

#[test]
fn a_trusted_peer_is_believed_and_appended_to() {
    let (weir, server) = start("trusted = \"127.0.0.0/8\"");
    let received = seen(&weir, &server, LIE);
    assert_eq!(values(&received, "x-forwarded-for"), ["9.9.9.9, 127.0.0.1"]);
    assert_eq!(values(&received, "x-forwarded-proto"), ["https"]);
    assert!(!received.contains("root"), "{received}");
}

#[test]
fn a_list_of_addresses_in_several_lines_stays_in_order() {
    let (weir, server) = start("trusted = \"127.0.0.0/8\"");
    let request = "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.1.1.1, 2.2.2.2\r\nX-Other: x\r\nX-Forwarded-For: 3.3.3.3\r\n\r\n";
    let received = seen(&weir, &server, request);
    let all = values(&received, "x-forwarded-for").join(", ");
    assert_eq!(all, "1.1.1.1, 2.2.2.2, 3.3.3.3, 127.0.0.1");
}

#[test]
fn more_identity_headers_can_be_named() {
    let (weir, server) = start("identity-headers = [\"X-SSL-*\", \"X-Auth-User\"]");
    let request =
        "GET / HTTP/1.1\r\nHost: a\r\nX-SSL-Client-DN: root\r\nx-auth-user: root\r\nX-Other: x\r\n\r\n";
    let received = seen(&weir, &server, request);
    assert!(!received.contains("root"), "{received}");
    assert!(received.contains("X-Other: x"), "{received}");
}

#[test]
fn named_identity_headers_do_not_come_as_trailers() {
    let (weir, server) = start("identity-headers = [\"X-SSL-*\", \"X-Auth-User\"]");
    let chunked = |trailer: &str| {
        format!(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n{trailer}: root\r\n\r\n"
        )
    };
    for trailer in ["X-Auth-User", "x_ssl_client_dn"] {
        assert_eq!(weir.client().exchange(chunked(trailer)).status, 400, "{trailer}");
    }
    assert_eq!(weir.client().exchange(chunked("X-Checksum")).status, 200);
    let received = String::from_utf8(server.received_in_all()).unwrap();
    let trailers: Vec<_> = received.lines().filter(|line| line.ends_with(": root")).collect();
    assert_eq!(trailers, ["X-Checksum: root"]);
}

#[test]
fn each_request_has_an_id_in_both_directions() {
    let server = RawServer::answering("hi");
    let config = in_order(&web(&[server.addr()]));
    let weir = Weir::start(&format!("{config}[listener.web.forwarded]\nrequest-id = true\n"));
    let mut ids = Vec::new();
    for _ in 0..3 {
        let before = server.received_in_all().len();
        let response = weir.client().exchange("GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\n\r\n");
        let received = String::from_utf8(server.received_in_all().split_off(before)).unwrap();
        let id = response.header("x-request-id").unwrap().to_owned();
        assert_eq!(values(&received, "x-request-id"), [id.as_str()]);
        assert_ne!(id, "mine");
        ids.push(id);
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn a_clients_own_id_is_kept_only_where_that_is_wanted_and_it_is_one() {
    let server = RawServer::answering("hi");
    let config = in_order(&web(&[server.addr()]));
    let weir = Weir::start(&format!(
        "{config}[listener.web.forwarded.request-id]\nheader = \"X-Id\"\naccept = true\n"
    ));
    let ask = |id: &str| {
        let response = weir.client().exchange(format!("GET / HTTP/1.1\r\nHost: a\r\nX-Id: {id}\r\n\r\n"));
        response.header("x-id").unwrap().to_owned()
    };
    assert_eq!(ask("mine-1"), "mine-1");
    assert_ne!(ask("two words"), "two words");
    assert_ne!(ask(&"x".repeat(129)), "x".repeat(129));
}

#[test]
fn via_can_be_named_and_left_out() {
    let (weir, server) = start("via = \"edge-1\"");
    assert_eq!(values(&seen(&weir, &server, LIE), "via"), ["1.1 edge-1"]);
    let (weir, server) = start("via = false");
    assert_eq!(values(&seen(&weir, &server, LIE), "via"), Vec::<&str>::new());
}

#[test]
fn an_ipv6_client_stands_in_quotes_and_brackets() {
    let server = RawServer::answering("hi");
    let config = in_order(&web(&[server.addr()])).replace("127.0.0.1:0", "[::1]:0");
    let weir = Weir::start(&format!("{config}[listener.web.forwarded]\nforwarded = \"set\"\n"));
    let received = seen(&weir, &server, "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n");
    assert_eq!(values(&received, "x-forwarded-for"), ["::1"]);
    assert_eq!(values(&received, "forwarded"), ["for=\"[::1]\";host=\"[::1]:8080\";proto=http"]);
}

#[test]
fn a_client_on_a_unix_socket_has_no_address() {
    let directory = weir_testkit::TempDir::new().unwrap();
    let path = directory.path().join("front.sock");
    let server = RawServer::answering("hi");
    let config = in_order(&web(&[server.addr()])).replace("127.0.0.1:0", &format!("unix:{}", path.display()));
    let _weir = Weir::start(&format!("{config}[listener.web.forwarded]\nforwarded = \"set\"\n"));
    let response = weir_testkit::RawClient::connect_unix(&path).exchange(LIE);
    assert_eq!(response.status, 200);
    let received = String::from_utf8(server.received(0)).unwrap();
    assert_eq!(values(&received, "x-forwarded-for"), Vec::<&str>::new());
    assert_eq!(values(&received, "forwarded"), ["for=unknown;host=a.example;proto=http"]);
}
