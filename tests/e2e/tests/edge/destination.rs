//! Tests that WebDAV's `Destination` (RFC 4918 section 10.3) names the resource as the server knows it.

use weir_e2e::Weir;
use weir_testkit::RawServer;

use crate::{seen, values};

fn start(tls_less_route: &str) -> (Weir, RawServer) {
    let server = RawServer::answering("hi");
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n{tls_less_route}\n\
         [pool.web]\nservers = \"{}\"\nreuse = false\n[weir]\nworkers = 1\n",
        server.addr()
    );
    (Weir::start(&config), server)
}

fn moved(weir: &Weir, server: &RawServer, path: &str, destination: &str) -> String {
    let request = format!("MOVE {path} HTTP/1.1\r\nHost: dav.example\r\nDestination: {destination}\r\n\r\n");
    let received = seen(weir, server, &request);
    values(&received, "destination").join(" AND ")
}

#[test]
fn a_prefix_that_is_rewritten_is_rewritten_in_destination_too() {
    let (weir, server) = start(
        "[[route]]\npath = \"/dav\"\npool = \"web\"\nrewrite = { prefix = \"/dav\", to = \"/store\" }\n",
    );
    let cases = [
        ("http://dav.example/dav/b", "http://dav.example/store/b"),
        ("/dav/b", "/store/b"),
        ("http://dav.example:80/dav/b%20c?x", "http://dav.example/store/b%20c?x"),
        ("http://DAV.example/dav/b", "http://dav.example/store/b"),
        // A resource at another host does not belong to this server.
        ("http://other.example/dav/b", "http://other.example/dav/b"),
        ("/davx/b", "/davx/b"),
    ];
    for (destination, expected) in cases {
        assert_eq!(moved(&weir, &server, "/dav/a", destination), expected, "{destination}");
    }
}

#[test]
fn without_changes_it_stays_as_it_is() {
    let (weir, server) = start("");
    for destination in ["http://dav.example/b", "/b", "https://dav.example/b", "http://dav.example:8080/b"] {
        assert_eq!(moved(&weir, &server, "/a", destination), destination);
    }
}

#[test]
fn the_host_is_the_one_that_the_server_gets() {
    let (weir, server) = start(
        "[[route]]\npath = \"/dav\"\npool = \"web\"\nrewrite = { prefix = \"/dav\", to = \"/store\" }\n\
         request-headers = { set = { Host = \"store.internal\" } }\n",
    );
    let request =
        "COPY /dav/a HTTP/1.1\r\nHost: dav.example\r\nDestination: http://dav.example/dav/b\r\n\r\n";
    let received = seen(&weir, &server, request);
    assert_eq!(values(&received, "host"), ["store.internal"]);
    assert_eq!(values(&received, "destination"), ["http://store.internal/store/b"]);
    assert_eq!(moved(&weir, &server, "/dav/a", "http://other.example/dav/b"), "http://other.example/dav/b");
}

#[test]
fn a_location_with_the_host_that_the_server_got_names_the_clients() {
    let server = RawServer::responding(|_| {
        b"HTTP/1.1 201 Created\r\nLocation: http://store.internal/b\r\nContent-Length: 0\r\n\r\n".to_vec()
    });
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\n\n[[route]]\npath = \"/\"\npool = \"web\"\n\
         request-headers = {{ set = {{ Host = \"store.internal\" }} }}\n\n[pool.web]\nservers = \"{}\"\n",
        server.addr()
    );
    let weir = Weir::start(&config);
    let created =
        weir.client().exchange("POST /a HTTP/1.1\r\nHost: dav.example\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(created.header("location"), Some("http://dav.example/b"));
}

#[test]
fn the_scheme_follows_where_weir_ends_tls() {
    use weir_testkit::certificates::{Authority, Request};
    let server = RawServer::answering("hi");
    let authority = Authority::new("test authority");
    let issued = authority.issue(&Request::names(&["dav.example"]));
    let launcher = Weir::launcher("");
    let files = issued.write_to(launcher.directory(), "site");
    std::fs::write(launcher.directory().join("ca.pem"), authority.pem()).unwrap();
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\
         tls = {{ certificates = {{ certificate = \"{}\", key = \"{}\" }} }}\n\n[pool.web]\nservers = \"{}\"\n",
        files.certificate.display(),
        files.key.display(),
        server.addr()
    );
    let weir = launcher.config(&config).start();
    let port = weir.addr("web").port();
    let output = std::process::Command::new("curl")
        .args(["-sS", "--max-time", "10", "-X", "MOVE", "--resolve"])
        .arg(format!("dav.example:{port}:127.0.0.1"))
        .arg("--cacert")
        .arg(weir.directory().join("ca.pem"))
        .args(["-H", &format!("Destination: https://dav.example:{port}/b")])
        .arg(format!("https://dav.example:{port}/a"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "hi", "{}", String::from_utf8_lossy(&output.stderr));
    let received = String::from_utf8(server.received(0)).unwrap();
    assert_eq!(values(&received, "destination"), [format!("http://dav.example:{port}/b")]);
    assert_eq!(values(&received, "x-forwarded-proto"), ["https"]);
}
