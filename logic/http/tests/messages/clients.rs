//! Tests of the client's address and of accepted request ids.

use weir_http::{
    HeadLimits, HeaderAction, HeaderRule, HeaderTable, Peer, RequestIdRule, RouteHeaders, RouteRewriter,
    parse_request,
};

use crate::common::{CLIENT, TRUSTED, Way};

fn client(peer: &str, headers: &str) -> String {
    let way = Way::new();
    let buf = format!("GET / HTTP/1.1\nHost: h\n{headers}\n").replace('\n', "\r\n").into_bytes();
    let mut table = HeaderTable::new();
    parse_request(&buf, &HeadLimits::default(), &mut table).unwrap().unwrap();
    let forwarder = way.forwarder();
    let peer = forwarder.peer(peer.parse().unwrap());
    forwarder.client_address(&buf, &table, &peer).unwrap().to_string()
}

#[test]
fn a_stranger_is_who_its_connection_says() {
    assert_eq!(client(CLIENT, "X-Forwarded-For: 1.1.1.1\nForwarded: for=1.1.1.1\n"), "192.0.2.7");
}

#[test]
fn behind_trusted_peers_the_last_stranger_is_the_client() {
    assert_eq!(client(TRUSTED, ""), "10.1.2.3");
    assert_eq!(client(TRUSTED, "X-Forwarded-For: 1.1.1.1\n"), "1.1.1.1");
    assert_eq!(client(TRUSTED, "X-Forwarded-For: 6.6.6.6, 1.1.1.1, 10.9.9.9\n"), "1.1.1.1");
    assert_eq!(client(TRUSTED, "X-Forwarded-For: 6.6.6.6\nX-Forwarded-For: 2.2.2.2\n"), "2.2.2.2");
    assert_eq!(client(TRUSTED, "X-Forwarded-For: 2.2.2.2\nX-Forwarded-For: 10.5.5.5\n"), "2.2.2.2");
    assert_eq!(client(TRUSTED, "X-Forwarded-For: 10.4.4.4, 10.5.5.5\n"), "10.4.4.4");
    assert_eq!(client(TRUSTED, "X-Forwarded-For: [2001:db8::9]:1234\n"), "2001:db8::9");
    assert_eq!(client(TRUSTED, "X-Forwarded-For: 2001:db8::9\n"), "2001:db8::9");
    assert_eq!(client(TRUSTED, "X-Forwarded-For: 1.1.1.1:80\n"), "1.1.1.1");
}

#[test]
fn variables_mean_the_client_that_a_trusted_peer_names() {
    let rule = HeaderRule {
        name: "X-Client".into(),
        action: HeaderAction::Set("{client_ip} {client_port}.".into()),
    };
    let headers = RouteHeaders { request: vec![rule], response: Vec::new() };
    let route = RouteRewriter::compile(None, &headers).unwrap();
    let seen = |client: &'static str| {
        let way = Way { client, route: route.clone(), ..Way::new() };
        let head = way.request("GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 1.1.1.1\n\n");
        head.lines().find_map(|line| line.strip_prefix("X-Client: ").map(str::to_owned)).unwrap()
    };
    assert_eq!(seen(CLIENT), "192.0.2.7 40000.");
    // A trusted peer does not name the client's port.
    assert_eq!(seen(TRUSTED), "1.1.1.1 .");
}

#[test]
fn what_is_no_address_ends_the_search() {
    assert_eq!(client(TRUSTED, "X-Forwarded-For: 1.1.1.1, unknown\n"), "10.1.2.3");
    assert_eq!(client(TRUSTED, "X-Forwarded-For: 1.1.1.1, garbage, 10.5.5.5\n"), "10.5.5.5");
}

#[test]
fn forwarded_tells_it_too() {
    assert_eq!(
        client(TRUSTED, "Forwarded: for=6.6.6.6, proto=https;For=\"[2001:db8::9]:80\";host=h\n"),
        "2001:db8::9"
    );
    assert_eq!(client(TRUSTED, "Forwarded: for=1.1.1.1\nForwarded: for=10.2.2.2\n"), "1.1.1.1");
    assert_eq!(client(TRUSTED, "Forwarded: for=_hidden\n"), "10.1.2.3");
}

#[test]
fn a_unix_socket_has_no_address() {
    let peer = Peer::without_address();
    assert_eq!((peer.ip(), peer.port(), peer.ip_text(), peer.is_trusted()), (None, 0, &b""[..], false));
}

#[test]
fn the_longest_address_is_kept_whole() {
    let forwarder = Way::new().forwarder();
    let peer = forwarder.peer("[1111:2222:3333:4444:5555:6666:7777:8888]:1".parse().unwrap());
    assert_eq!(peer.ip_text(), b"1111:2222:3333:4444:5555:6666:7777:8888");
    assert!(forwarder.peer("[2001:db8:1:2::3]:1".parse().unwrap()).is_trusted());
}

#[test]
fn a_clients_request_id_is_accepted_if_it_is_harmless() {
    let mut way = Way::new();
    let accepted = |way: &Way, lines: &str| {
        let buf = format!("GET / HTTP/1.1\nHost: h\n{lines}\n").replace('\n', "\r\n").into_bytes();
        let mut table = HeaderTable::new();
        parse_request(&buf, &HeadLimits::default(), &mut table).unwrap().unwrap();
        let id = way.forwarder().accepted_request_id(&buf, &table);
        id.map(|id| String::from_utf8(id.of(&buf).to_vec()).unwrap())
    };
    assert_eq!(accepted(&way, "X-Request-Id: a\n"), None);
    way.rules.request_id = Some(RequestIdRule { header: "X-Request-Id".into(), accept: true });
    assert_eq!(accepted(&way, "x-request-id: a-1!\n").as_deref(), Some("a-1!"));
    assert_eq!(accepted(&way, &format!("X-Request-Id: {}\n", "a".repeat(128))).map(|id| id.len()), Some(128));
    for refused in
        ["X-Request-Id:\n", "X-Request-Id: a b\n", "X-Request-Id: a\nX-Request-Id: b\n", "X-A: b\n"]
    {
        assert_eq!(accepted(&way, refused), None, "{refused}");
    }
    assert_eq!(accepted(&way, &format!("X-Request-Id: {}\n", "a".repeat(129))), None);
    way.rules.request_id = Some(RequestIdRule { header: "X-Request-Id".into(), accept: false });
    assert_eq!(accepted(&way, "X-Request-Id: a\n"), None);
}
