//! Tests of the comparison of uploads with the server's digests of the received bytes.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use weir_dav::digest::{Algorithm, Digest, Hasher, write_digest, write_repr_digest};
use weir_lab::{Body, Fault, FlawKind, Load, Run, TargetSpec, Uploads, Verify, report};
use weir_testkit::RawServer;

use crate::http2::server::{Rules, Server};
use crate::{closed, kinds, load, run};

/// Returns a load of `count` PUT requests with this body, to be verified.
fn uploads(address: SocketAddr, path: &str, body: Body, count: u64) -> Load {
    let mut load = load(address, path, closed(2));
    load.targets[0] = TargetSpec { method: "PUT".to_owned(), body, ..load.targets[0].clone() };
    load.verify = Some(Verify::Announced);
    load.requests_max = Some(count);
    load
}

fn digest(algorithm: Algorithm, content: &[u8]) -> Digest {
    let mut hasher = Hasher::new(algorithm);
    hasher.update(content);
    hasher.finish()
}

/// Starts a server that responds with this content, and with headers made from the received body.
fn storage(
    status: &'static str,
    content: &'static str,
    headers: impl Fn(&[u8]) -> String + Send + Sync + 'static,
) -> RawServer {
    RawServer::responding(move |request| {
        let length = content.len();
        let told = headers(&request.body);
        format!("HTTP/1.1 {status}\r\n{told}Content-Length: {length}\r\n\r\n{content}").into_bytes()
    })
}

fn adler(content: &[u8]) -> String {
    format!("Digest: {}\r\n", write_digest(&[digest(Algorithm::Adler32, content)]))
}

/// Returns the numbers of verified and unverified uploads.
fn counts(run: &Run) -> Option<(u64, u64)> {
    run.summary().uploads.map(|Uploads { verified, unverified }| (verified, unverified))
}

#[test]
fn what_arrives_as_it_was_sent_is_verified_whatever_the_body_is_made_of() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&weir_testkit::pattern(200_000)).unwrap();
    let bodies = [
        Body::Empty,
        Body::Bytes(Arc::from(&b"hello"[..])),
        Body::Generated { bytes: 200_001 },
        Body::file(file.path()).unwrap(),
    ];
    let server = storage("201 Created", "", adler);
    for body in bodies {
        let run = run(uploads(server.addr(), "/f", body.clone(), 6));
        assert_eq!(counts(&run), Some((6, 0)), "{body:?}: {:?}", run.summary().faults);
        assert!(!kinds(&run).contains(&FlawKind::Bytes), "{:?}", run.flaws());
        assert!(report::text(&run).contains("\nUploads      6 verified, 0 not verified\n"));
    }
}

#[test]
fn a_server_that_says_that_it_got_something_else_makes_a_run_invalid() {
    let lies: [fn(&[u8]) -> String; 3] = [
        |_| "Digest: adler32=1\r\n".to_owned(),
        // One of the two reported digests is wrong.
        |content| format!("{}Repr-Digest: sha-256=:{}:\r\n", adler(content), "A".repeat(43) + "="),
        |content| adler(&content[..content.len() - 1]),
    ];
    for lie in lies {
        for (status, content) in [("201 Created", ""), ("204 No Content", ""), ("200 OK", "stored")] {
            let server = storage(status, content, lie);
            let run = run(uploads(server.addr(), "/f", Body::Generated { bytes: 70_000 }, 4));
            assert_eq!(run.summary().faults, [(Fault::UploadChecksum.to_string(), 4)]);
            assert_eq!(counts(&run), None);
            let said = run.flaws().iter().map(|flaw| flaw.text.clone()).collect::<Vec<_>>().join("; ");
            assert!(kinds(&run).contains(&FlawKind::Bytes) && said.contains("what was sent to it"), "{said}");
        }
    }
}

#[test]
fn what_a_server_says_nothing_of_is_counted_as_not_verified() {
    let silent: [fn(&[u8]) -> String; 4] = [
        |_| String::new(),
        // An algorithm that was not requested and not computed.
        |_| format!("Digest: {}\r\n", write_digest(&[digest(Algorithm::Md5, b"other")])),
        // The digest of the response.
        |_| format!("Content-Digest: {}\r\n", write_repr_digest(&[digest(Algorithm::Sha256, b"stored")])),
        |_| adler(b"stored"),
    ];
    for headers in silent {
        let server = storage("200 OK", "stored", headers);
        let run = run(uploads(server.addr(), "/f", Body::Generated { bytes: 1_000 }, 4));
        assert_eq!(counts(&run), Some((0, 4)), "{:?}", run.summary().faults);
        assert!(!kinds(&run).contains(&FlawKind::Bytes), "{:?}", run.flaws());
        let said =
            "\nUploads      0 verified, 4 not verified (the answers tell no checksum of what was sent)\n";
        assert!(report::text(&run).contains(said), "{}", report::text(&run));
    }
}

#[test]
fn what_is_refused_or_a_part_or_not_to_be_verified_is_not_compared() {
    let server = storage("409 Conflict", "", |_| "Digest: adler32=1\r\n".to_owned());
    assert_eq!(counts(&run(uploads(server.addr(), "/f", Body::Generated { bytes: 9 }, 2))), None);
    let server = storage("204 No Content", "", |_| "Digest: adler32=1\r\n".to_owned());
    let mut part = uploads(server.addr(), "/f", Body::Generated { bytes: 9 }, 2);
    part.targets[0].headers.push(("Content-Range".to_owned(), "bytes 0-8/20".to_owned()));
    assert_eq!(counts(&run(part)), Some((0, 2)));
    let mut unasked = uploads(server.addr(), "/f", Body::Generated { bytes: 9 }, 2);
    unasked.verify = None;
    let run = run(unasked);
    assert_eq!((counts(&run), run.summary().requests.succeeded), (None, 2));
}

#[test]
fn uploads_are_verified_over_http_2_too() {
    let server = Server::start(Rules::default());
    // Larger than the initial flow-control window.
    let body = Body::Generated { bytes: 300_001 };
    for (path, verified) in
        [("/stored", Some((20, 0))), ("/stored-otherwise", None), ("/bytes/0", Some((0, 20)))]
    {
        let mut load = uploads(server.address, path, body.clone(), 20);
        load.streams = Some(4);
        let run = run(load);
        assert_eq!(counts(&run), verified, "{path}: {:?}", run.summary().faults);
        assert_eq!(kinds(&run).contains(&FlawKind::Bytes), verified.is_none(), "{path}: {:?}", run.flaws());
    }
}

#[test]
fn a_result_file_knows_what_was_verified() {
    let server = storage("201 Created", "", adler);
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut load = uploads(server.addr(), "/f", Body::Generated { bytes: 10 }, 5);
    load.output = Some(file.path().to_owned());
    run(load);
    let mut input = std::io::BufReader::new(std::fs::File::open(file.path()).unwrap());
    assert_eq!(counts(&Run::read(&mut input).unwrap()), Some((5, 0)));
}
