//! Tests of reading response heads on a connection with long responses.

use weir_e2e::{Weir, get, web};
use weir_testkit::{RawServer, Trace};

const BODY_BYTES: usize = 40_000;

/// Sends ten requests over one connection. Returns the number of reads that ask the kernel for the remaining
/// bytes, or `None` without the right to trace.
fn counting_reads(response: Vec<u8>) -> Option<usize> {
    let server = RawServer::responding(move |_| response.clone());
    let weir = Weir::start(&format!("{}[weir]\nworkers = 1\n", web(&[server.addr()])));
    let mut client = weir.client();
    let trace = Trace::attach(weir.pid(), &["recvmsg"])?;
    for _ in 0..10 {
        assert_eq!(client.exchange(get("/")).body.len(), BODY_BYTES);
    }
    let calls = trace.end();
    assert_eq!(server.connections(), 1);
    Some(calls.iter().filter(|line| line.contains("recvmsg(") && line.contains("HTTP/1.1 200")).count())
}

#[test]
fn after_four_long_responses_the_kernel_says_what_the_read_of_a_head_leaves() {
    let mut response = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY_BYTES}\r\n\r\n").into_bytes();
    response.resize(response.len() + BODY_BYTES, b'x');
    let Some(reads) = counting_reads(response) else { return };
    assert_eq!(reads, 6);
}

#[test]
fn long_chunks_do_not_promise_a_long_body() {
    let mut response =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{BODY_BYTES:x}\r\n").into_bytes();
    response.resize(response.len() + BODY_BYTES, b'x');
    response.extend_from_slice(b"\r\n0\r\n\r\n");
    let Some(reads) = counting_reads(response) else { return };
    assert_eq!(reads, 0);
}
