//! Tests of copies over TLS, with private certificate authorities.

use weir_e2e::Weir;
use weir_testkit::certificates::{Authority, Request};
use weir_testkit::{RawServer, TempDir};

use crate::{OPEN, last_line, message, pattern};

#[test]
fn both_ways_over_tls_and_only_with_a_certificate_that_is_good() {
    let files = TempDir::new().unwrap();
    let authority = Authority::new("test authority");
    std::fs::write(files.path().join("ca.pem"), authority.pem()).unwrap();
    std::fs::write(files.path().join("other.pem"), Authority::new("other").pem()).unwrap();
    let issued = authority.issue(&Request::names(&["localhost"])).write_to(files.path(), "site");
    let start = |root: &TempDir, ca: &str| {
        Weir::start(&format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\nstorage = \"data\"\n\
             [listener.tls]\nbind = \"127.0.0.1:0\"\nstorage = \"data\"\n\
             tls = {{ certificates = {{ certificate = {:?}, key = {:?} }} }}\n\
             [storage-area.data]\nroot = {:?}\nthird-party-copy = true\n{OPEN}\
             [third-party-copy]\nallow = \"localhost\"\nprivate = [\"127.0.0.0/8\", \"::1\"]\nretries = 0\nca = {:?}\n",
            issued.certificate,
            issued.key,
            root.path(),
            files.path().join(ca),
        ))
    };
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (here, there) = (start(&one, "ca.pem"), start(&two, "other.pem"));
    let content = pattern(3_000_000);
    std::fs::write(one.path().join("f"), &content).unwrap();
    let copy = |weir: &Weir, path: &str, way: &str, other: &Weir| {
        let url = format!("https://localhost:{}/f", other.addr("tls").port());
        let mut client = weir.client();
        let required = ("RequireChecksumVerification", "true");
        client.send(message("COPY", path, &[(way, &url), required, ("X-Number-Of-Streams", "2")]));
        last_line(&client.final_response())
    };
    assert_eq!(copy(&here, "/f", "Destination", &there), "success: Created");
    assert!(std::fs::read(two.path().join("f")).unwrap() == content);
    assert_eq!(copy(&here, "/g", "Source", &there), "success: Created");
    assert!(std::fs::read(one.path().join("g")).unwrap() == content);
    let line = copy(&there, "/h", "Source", &here);
    assert!(line.starts_with("failure: ") && line.contains("TLS: "), "{line}");
    // The certificate is not for addresses, and loopback addresses are not permitted in a URL.
    let mut client = here.client();
    let url = format!("https://127.0.0.1:{}/f", there.addr("tls").port());
    client.send(message("COPY", "/i", &[("Source", &url)]));
    assert_eq!(client.final_response().status, 403);
}

#[test]
fn a_redirection_does_not_lead_to_where_the_own_certificate_opens() {
    let files = TempDir::new().unwrap();
    let authority = Authority::new("test authority");
    let ca = files.path().join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    let issued = authority.issue(&Request::names(&["localhost"])).write_to(files.path(), "site");
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let closed = Weir::start(&format!(
        "[listener.tls]\nbind = \"127.0.0.1:0\"\nstorage = \"data\"\n\
         tls = {{ certificates = {{ certificate = {:?}, key = {:?} }}, client-auth = {{ ca = {ca:?} }} }}\n\
         [storage-area.data]\nroot = {:?}\n{OPEN}",
        issued.certificate,
        issued.key,
        two.path(),
    ));
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\nstorage = \"data\"\n\
         [storage-area.data]\nroot = {:?}\nthird-party-copy = true\n{OPEN}\
         [third-party-copy]\nhttp = true\nprivate = [\"127.0.0.0/8\", \"::1\"]\nretries = 0\nca = {ca:?}\n\
         client-certificate = {{ certificate = {:?}, key = {:?} }}\n",
        one.path(),
        issued.certificate,
        issued.key,
    ));
    std::fs::write(two.path().join("f"), "secret").unwrap();
    let there = format!("https://localhost:{}/f", closed.addr("tls").port());
    let copy = |path: &str, url: &str| {
        let mut client = weir.client();
        client.send(message("COPY", path, &[("Source", url)]));
        last_line(&client.final_response())
    };
    assert_eq!(copy("/named", &there), "success: Created");
    let leads_there = RawServer::responding(move |_| {
        format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: {there}\r\nContent-Length: 0\r\n\r\n")
            .into_bytes()
    });
    let line = copy("/led", &format!("http://{}/f", leads_there.addr()));
    assert!(line.starts_with("failure: "), "{line}");
    assert!(!one.path().join("led").exists());
}
