//! Tests how an HTTP check judges a response.

use std::time::Duration;

use weir_config::plan::ProxyProtocolOut;
use weir_testkit::{RawServer, Step, chunked};

use super::{probe, told};

/// Starts a server that answers any request with these bytes and closes.
fn answering(bytes: impl Into<Vec<u8>>) -> RawServer {
    RawServer::script([Step::ReadHead, Step::Send(bytes.into())])
}

async fn judge(check: &str, answer: impl Into<Vec<u8>>) -> String {
    let server = answering(answer);
    told(&probe(server.addr(), check).run().await)
}

#[tokio::test]
async fn the_status_decides() {
    let ok = "\"GET /health\"";
    assert_eq!(judge(ok, "HTTP/1.1 204 Fine\r\n\r\n").await, "L7OK 204");
    assert_eq!(judge(ok, "HTTP/1.0 301 Moved\r\n\r\n").await, "L7OK 301");
    assert_eq!(judge(ok, "HTTP/1.1 503 Not Now\r\n\r\n").await, "L7STS 503 status 503 Not Now");
    let only = "{ http = \"GET /\", expect = { status = [200, \"404-405\"] } }";
    assert_eq!(judge(only, "HTTP/1.1 404 Gone\r\n\r\n").await, "L7OK 404");
    assert_eq!(judge(only, "HTTP/1.1 204\r\n\r\n").await, "L7STS 204 status 204");
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    let answer = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    assert_eq!(judge("\"GET /\"", answer).await, "L7OK 200");
    let endless = "HTTP/1.1 100 Continue\r\n\r\n".repeat(20);
    assert_eq!(judge("\"GET /\"", endless).await, "L7RSP response: interim responses without end");
}

#[tokio::test]
async fn an_expected_header_must_be_there_and_contain_its_value() {
    let check = "{ http = \"GET /\", expect = { header = \"X-Ready: yes\" } }";
    assert_eq!(judge(check, "HTTP/1.1 200 OK\r\nx-ready: no\r\nX-READY: oh yes\r\n\r\n").await, "L7OK 200");
    assert_eq!(judge(check, "HTTP/1.1 200 OK\r\n\r\n").await, "L7STS 200 header X-Ready is missing");
    assert_eq!(
        judge(check, "HTTP/1.1 200 OK\r\nX-Ready: no\r\n\r\n").await,
        "L7STS 200 header X-Ready does not contain \"yes\""
    );
}

#[tokio::test]
async fn an_expected_text_is_found_in_every_framing_and_across_chunks() {
    let check = "{ http = \"GET /\", expect = { body = \"all well\" } }";
    let with = |head: &str, body: &[u8]| [format!("HTTP/1.1 200 OK\r\n{head}\r\n").as_bytes(), body].concat();
    assert_eq!(judge(check, with("Content-Length: 14\r\n", b"it is all well")).await, "L7OK 200");
    assert_eq!(judge(check, with("", b"until the end all well")).await, "L7OK 200");
    let chunks = chunked(&["it is al", "l we", "ll"]);
    assert_eq!(judge(check, with("Transfer-Encoding: chunked\r\n", &chunks)).await, "L7OK 200");
    let slow = RawServer::script([
        Step::ReadHead,
        Step::SendSlowly(with("Content-Length: 8\r\n", b"all well"), Duration::from_micros(100)),
    ]);
    assert_eq!(told(&probe(slow.addr(), check).run().await), "L7OK 200");
}

#[tokio::test]
async fn a_body_without_the_expected_text_fails_and_only_its_start_is_read() {
    let check = "{ http = \"GET /\", expect = { body = \"all well\" } }";
    let missing = "L7STS 200 body does not contain \"all well\"";
    assert_eq!(judge(check, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnope").await, missing);
    assert_eq!(judge(check, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nall well").await, missing);
    assert_eq!(judge(check, "HTTP/1.1 204 None\r\n\r\n").await, missing.replace("200", "204"));
    let mut late = b"HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n".to_vec();
    late.resize(late.len() + 65_536, b'.');
    late.extend_from_slice(b"all well");
    assert_eq!(judge(check, late).await, missing);
    let endless = RawServer::start(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        loop {
            peer.send("1\r\n.\r\n".repeat(1_000))?;
        }
    });
    assert_eq!(told(&probe(endless.addr(), check).run().await), missing);
}

#[tokio::test]
async fn a_broken_answer_is_told_from_an_unexpected_one() {
    let get = "\"GET /\"";
    assert_eq!(judge(get, "").await, "L7RSP closed without a response");
    assert_eq!(judge(get, "HTTP/1.1 200 OK\r\nX: y").await, "L7RSP closed within the head");
    assert!(
        judge(get, "SSH-2.0-OpenSSH_9.2\r\n")
            .await
            .starts_with("L7RSP response: the status line is malformed")
    );
    let body = "{ http = \"GET /\", expect = { body = \"x\" } }";
    assert_eq!(
        judge(body, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab").await,
        "L7RSP 200 closed within the body"
    );
    assert!(
        judge(body, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
            .await
            .starts_with("L7RSP 200 body: ")
    );
    let endless = RawServer::start(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 200 OK\r\n")?;
        loop {
            peer.send(format!("X: {}\r\n", "y".repeat(1_000)))?;
        }
    });
    assert!(told(&probe(endless.addr(), get).run().await).starts_with("L7RSP response: "));
}

#[tokio::test]
async fn the_request_is_what_the_config_says() {
    let server = answering("HTTP/1.1 200 OK\r\n\r\n");
    let sent = async |check: &str| {
        let number = server.connections();
        assert_eq!(told(&probe(server.addr(), check).run().await), "L7OK 200");
        server.wait_for_end(number);
        String::from_utf8(server.received(number)).unwrap()
    };
    assert_eq!(
        sent("\"GET /health?x=1\"").await,
        "GET /health?x=1 HTTP/1.1\r\nHost: server.example:80\r\nUser-Agent: weir\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(
        sent("{ http = \"OPTIONS *\", host = \"other\", headers = { user-agent = \"me\", X-A = \"b\" } }")
            .await,
        "OPTIONS * HTTP/1.1\r\nHost: other\r\nuser-agent: me\r\nX-A: b\r\nConnection: close\r\n\r\n"
    );
    assert!(sent("\"POST /ping\"").await.contains("\r\nContent-Length: 0\r\n"));
    let _ = probe(server.addr(), "\"HEAD /\"").run().await;
}

#[tokio::test]
async fn a_head_request_has_no_body_to_wait_for() {
    assert_eq!(judge("\"HEAD /\"", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n").await, "L7OK 200");
}

#[tokio::test]
async fn a_pool_that_sends_proxy_headers_sends_one_with_its_checks_on_nobodys_behalf() {
    for (version, header) in [
        (ProxyProtocolOut::V1, &b"PROXY UNKNOWN\r\n"[..]),
        (ProxyProtocolOut::V2, &b"\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x00"[..]),
    ] {
        let server = RawServer::script([
            Step::Read(header.len()),
            Step::ReadHead,
            Step::Send(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()),
        ]);
        let mut probe = probe(server.addr(), "\"GET /\"");
        probe.proxy_protocol = Some(version);
        assert_eq!(told(&probe.run().await), "L7OK 200");
        assert!(server.received(0).starts_with(header), "{version:?}");
    }
}
