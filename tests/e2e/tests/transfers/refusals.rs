//! Tests of refused copies: refused at once by a status, or by the last line of the response.

use std::net::SocketAddr;

use weir_e2e::Weir;
use weir_testkit::{RawServer, TempDir};

use crate::{HERE, OPEN, Site, config, message, ok};

#[test]
fn what_can_be_told_at_once_has_a_status_of_its_own() {
    let site = Site::new();
    site.write("f", "content");
    std::fs::create_dir(site.root.path().join("d")).unwrap();
    let there = "http://127.0.0.1:1/a";
    for (path, headers, status, text) in [
        ("/n", &[("Source", there), ("Destination", there)][..], 400, "not both"),
        ("/n", &[("Source", "ftp://127.0.0.1/a")], 400, "Source must be"),
        ("/n", &[("Source", "http://u:p@127.0.0.1/a")], 400, "Source must be"),
        ("/n", &[("Source", there), ("Credential", "gridsite")], 400, "Credential: gridsite is not"),
        ("/n", &[("Source", there), ("RequireChecksumVerification", "maybe")], 400, "true or false"),
        ("/n", &[("Source", there), ("TransferHeaderHost", "a")], 400, "TransferHeader"),
        ("/n", &[("Source", "http://10.0.0.1/a")], 403, "10.0.0.1 leads to a private address"),
        ("/n", &[("Source", "http://[::ffff:169.254.169.254]/latest")], 403, "link-local"),
        ("/f", &[("Source", there), ("Overwrite", "F")], 412, ""),
        ("/f", &[("Source", there), ("If-None-Match", "*")], 412, ""),
        ("/no/n", &[("Source", there)], 409, ""),
        ("/d", &[("Source", there)], 405, ""),
        ("/missing", &[("Destination", there)], 404, ""),
        ("/d", &[("Destination", there)], 403, "only files"),
        ("/f", &[("Destination", "http://192.168.0.1/a")], 403, "private address"),
    ] {
        let refused = site.copy(path, headers);
        assert_eq!(refused.status, status, "{headers:?}: {}", refused.text());
        assert!(refused.text().contains(text), "{headers:?}: {}", refused.text());
    }
    site.settles(&["d", "f"]);
}

#[test]
fn without_the_switch_nothing_is_copied() {
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("f"), "content").unwrap();
    let config =
        config(root.path(), "").replace("third-party-copy = true\n", "").replace("[third-party-copy]\n", "");
    let weir = Weir::start(&config);
    let status = |path: &str, header: (&str, &str)| {
        let mut client = weir.client();
        client.send(message("COPY", path, &[header]));
        client.final_response().status
    };
    assert_eq!(status("/n", ("Source", "https://a.example/f")), 403);
    assert_eq!(status("/f", ("Destination", "https://a.example/f")), 502);
    // Copies within the area are no third-party copies.
    assert_eq!(status("/f", ("Destination", "/g")), 201);
}

#[test]
fn by_default_there_is_neither_plain_http_nor_a_way_inside() {
    let root = TempDir::new().unwrap();
    let weir = Weir::start(&config(root.path(), ""));
    let refused = |source: &str| {
        let mut client = weir.client();
        client.send(message("COPY", "/n", &[("Source", source)]));
        let answer = client.final_response();
        format!("{} {}", answer.status, answer.text().lines().last().unwrap_or_default())
    };
    assert!(refused("http://a.example/f").contains("plain http is not permitted"));
    assert!(refused("https://127.0.0.1/f").starts_with("403"));
    // For a name, the resolved addresses are checked.
    let line = refused("https://localhost:1/f");
    assert!(
        line.starts_with("202 failure: ") && line.contains("localhost leads to a loopback address"),
        "{line}"
    );
}

#[test]
fn who_may_not_write_or_read_may_not_have_it_done() {
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("f"), "content").unwrap();
    let rules = "[storage-area.data.access]\nanonymous-read = true\n";
    let config = config(root.path(), HERE).replace(OPEN, rules);
    let weir = Weir::start(&config);
    let destination =
        RawServer::responding(|_| b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n".to_vec());
    let there = format!("http://{}/f", destination.addr());
    let answer = |path: &str, header: (&str, &str)| {
        let mut client = weir.client();
        client.send(message("COPY", path, &[header]));
        client.final_response()
    };
    // No credentials would help.
    assert_eq!(answer("/n", ("Source", &there)).status, 403);
    assert_eq!(answer("/f", ("Source", &there)).status, 403);
    assert_eq!(destination.connections(), 0);
    assert!(answer("/f", ("Destination", &there)).text().ends_with("success: Created\n"));
}

#[test]
fn a_redirection_is_vetted_as_the_first_url_was() {
    let inside = RawServer::start_on(SocketAddr::from(([127, 0, 0, 2], 0)), |peer| {
        let request = peer.request()?;
        peer.send(ok(&request, "", b"secret"))
    });
    let leads_to = format!("http://{}/f", inside.addr());
    let source = RawServer::responding(move |_| {
        format!("HTTP/1.1 302 Found\r\nLocation: {leads_to}\r\nContent-Length: 0\r\n\r\n").into_bytes()
    });
    let root = TempDir::new().unwrap();
    let weir = Weir::start(&config(root.path(), "http = true\nprivate = \"127.0.0.1\"\n"));
    std::fs::write(root.path().join("f"), "content").unwrap();
    let there = format!("http://{}/f", source.addr());
    for (path, way) in [("/n", "Source"), ("/f", "Destination")] {
        let mut client = weir.client();
        client.send(message("COPY", path, &[(way, &there)]));
        let answer = client.final_response();
        assert!(answer.text().contains("failure: 127.0.0.2:"), "{}", answer.text());
        assert!(answer.text().contains("leads to a loopback address"), "{}", answer.text());
    }
    assert_eq!(inside.connections(), 0);
}

#[test]
fn redirections_end_somewhere() {
    let source = RawServer::responding(|_| {
        b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n".to_vec()
    });
    let site = Site::new();
    let line = site.fails("/n", &[("Source", &format!("http://{}/f", source.addr()))]);
    assert!(line.contains("too many redirections"), "{line}");
    assert_eq!(source.connections(), 11);
}

#[test]
fn nobody_passes_on_what_only_a_proxy_may_say() {
    let server = RawServer::answering("content");
    let site = Site::with("[listener.web.forwarded]\nidentity-headers = [\"X-Grid-*\"]\n");
    let from = format!("http://{}/f", server.addr());
    for name in ["X-VOMS-ssl_client_ee_s_dn", "X-Forwarded-For", "x-remote-user", "X_Grid_User", "If"] {
        let name = format!("TransferHeader{name}");
        assert_eq!(site.copy("/f", &[("Source", &from), (&name, "admin")]).status, 400, "{name}");
    }
    assert_eq!(server.connections(), 0);
    site.copies("/f", &[("Source", &from), ("TransferHeaderX-Other", "admin")]);
}
