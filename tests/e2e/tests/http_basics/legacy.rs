//! Tests of servers that violate RFC 9112, for which the pool has switches.

use weir_e2e::{Weir, get, web};
use weir_testkit::{PATIENCE, RawServer, wait_until};

/// Starts a server that responds to each request with these bytes.
fn server(answer: &'static str) -> RawServer {
    RawServer::start(move |peer| {
        while peer.request().is_ok() {
            peer.send(answer)?;
        }
        Ok(())
    })
}

const FAULTS: [(&str, &str); 3] = [
    ("bare-lf", "HTTP/1.1 200 OK\nX-A: b\nContent-Length: 2\n\nhi"),
    (
        "duplicate-content-length",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: b\r\nContent-Length: 2\r\n\r\nhi",
    ),
    ("control-characters", "HTTP/1.1 200 OK\r\nX-A: b\x02\r\nContent-Length: 2\r\n\r\nhi"),
];

#[test]
fn a_fault_is_refused_unless_the_pool_mends_it() {
    for (name, answer) in FAULTS {
        let server = server(answer);
        for (keys, status) in [(String::new(), 502), (format!("lenient = \"{name}\"\n"), 200)] {
            let weir = Weir::start(&format!("{}eject = false\n{keys}", web(&[server.addr()])));
            let mut client = weir.client();
            for _ in 0..2 {
                let response = client.exchange(get("/"));
                assert_eq!(response.status, status, "{name} with {keys:?}");
                if status == 200 {
                    assert_eq!(
                        (response.text().as_str(), response.header("x-a")),
                        ("hi", Some("b")),
                        "{name}"
                    );
                    assert_eq!(response.header("content-length"), Some("2"));
                }
            }
        }
    }
}

#[test]
fn health_checks_read_heads_as_requests_do() {
    for (name, answer) in FAULTS {
        let server = server(answer);
        let check =
            "check = { http = \"GET /\", interval = \"50ms\", initial = \"down\", rise = 1, fall = 1 }\n";
        let weir = Weir::start(&format!("{}{check}lenient = [\"{name}\"]\n", web(&[server.addr()])));
        wait_until("the check passes", PATIENCE, || weir.client().exchange(get("/")).status == 200);
    }
}

#[test]
fn a_mended_head_that_comes_byte_by_byte_is_the_same_one() {
    let server = RawServer::start(|peer| {
        while peer.request().is_ok() {
            for byte in FAULTS[0].1.bytes() {
                peer.send([byte])?;
            }
        }
        Ok(())
    });
    let weir = Weir::start(&format!("{}lenient = [\"bare-lf\"]\n", web(&[server.addr()])));
    let mut client = weir.client();
    for _ in 0..3 {
        assert_eq!(client.exchange(get("/")).text(), "hi");
    }
}

#[test]
fn what_no_switch_is_for_stays_refused() {
    let all =
        "lenient = [\"bare-lf\", \"duplicate-content-length\", \"control-characters\"]\neject = false\n";
    for answer in [
        "HTTP/1.1 200 OK\nContent-Length: 2\nContent-Length: 3\n\nhi!",
        "HTTP/1.1 200 OK\nContent-Length: 2\nTransfer-Encoding: chunked\n\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX-A: b\rc\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nX-A : b\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\nX-A: b\n c\nContent-Length: 2\n\nhi",
    ] {
        let server = server(answer);
        let weir = Weir::start(&format!("{}{all}", web(&[server.addr()])));
        assert_eq!(weir.client().exchange(get("/")).status, 502, "{answer:?}");
    }
}
