//! Benchmark of message heads: parses and rewrites typical heads many times and prints nanoseconds for each.
//!
//! Run it with `cargo run --release -p weir-http --example head_cost`. To count instructions, run
//! `valgrind --tool=callgrind target/release/examples/head_cost CASE 1000` twice with different counts and
//! compare.
//!
//! With a CASE and a count, it runs only that case and prints nothing. The cases are `wrk`, `browser`,
//! `webdav` and `response`; `parse` and `httparse` only parse the head of `browser`.

#![allow(clippy::unwrap_used, clippy::panic)] // The heads are constants below.
#![allow(clippy::disallowed_methods)] // A benchmark needs a clock; the measured crate has none.

use std::hint::black_box;
use std::time::Instant;

use weir_http::{
    CookieEdit, Exchange, ForwardedFor, Forwarder, ForwardingRules, HeadLimits, HeaderTable, RequestContext,
    RequestText, ResponseContext, ResponseTo, RouteRewriter, Scheme, Version, parse_request, parse_response,
};
use weir_model::ServerName;

const WRK: &[u8] = b"GET /1k HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
const BROWSER: &[u8] = b"GET /assets/app.js?v=20240501 HTTP/1.1\r\nHost: www.example.org\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\nAccept: */*\r\n\
    Accept-Language: en\r\nAccept-Encoding: gzip, deflate, br\r\nConnection: keep-alive\r\n\r\n";
const WEBDAV: &[u8] = b"MOVE /data/file.root HTTP/1.1\r\nHost: dav.example.org\r\n\
    Destination: https://dav.example.org/data/other.root\r\nOverwrite: F\r\nAuthorization: Bearer abcdefgh\r\n\
    X-Transfer-Status: true\r\nContent-Length: 0\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Tue, 07 May 2024 10:00:00 GMT\r\n\
    Content-Type: text/html; charset=utf-8\r\nContent-Length: 1024\r\n\
    Last-Modified: Tue, 07 May 2024 09:00:00 GMT\r\nConnection: keep-alive\r\nETag: \"6639f8c0-400\"\r\n\
    Accept-Ranges: bytes\r\n\r\n";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [case, count] = &arguments[..] {
        run(case, count.parse().unwrap());
        return;
    }
    for case in ["wrk", "browser", "webdav", "response", "parse", "httparse"] {
        run(case, 100_000);
        let start = Instant::now();
        run(case, 1_000_000);
        println!("{case:10} {:6.1} ns", start.elapsed().as_nanos() as f64 / 1e6);
    }
}

fn run(case: &str, count: u64) {
    let rules = ForwardingRules {
        x_forwarded: ForwardedFor::Set,
        forwarded: ForwardedFor::Remove,
        trusted: Vec::new(),
        identity_headers: vec!["X-VOMS-*".into(), "X-Remote-User".into()],
        via: None,
        request_id: None,
    };
    let forwarder = Forwarder::compile(&rules, Scheme::Http);
    let route = RouteRewriter::none();
    let peer = forwarder.peer("192.0.2.7:40000".parse().unwrap());
    let server = ServerName::new("w1").unwrap();
    let exchange = Exchange {
        peer: &peer,
        client: &peer,
        request_id: "",
        listener: "web",
        route: "web",
        pool: "web",
        server: Some(&server),
        tls: None,
    };
    let mut table = HeaderTable::new();
    let mut out = Vec::with_capacity(4096);
    let limits = HeadLimits::default();
    if case == "httparse" {
        for _ in 0..count {
            let mut headers = [httparse::EMPTY_HEADER; 16];
            let mut request = httparse::Request::new(&mut headers);
            black_box(request.parse(black_box(BROWSER)).unwrap());
        }
        return;
    }
    if case == "response" {
        let cx = ResponseContext {
            exchange,
            request: RequestText::default(),
            server_scheme: Scheme::Http,
            client_version: Version::Http11,
            date: "Tue, 07 May 2024 10:00:00 GMT",
            keep_alive: true,
            cookie: None,
            from_server: true,
        };
        for _ in 0..count {
            out.clear();
            let buf = black_box(RESPONSE);
            let head = parse_response(buf, ResponseTo::default(), &limits, &mut table).unwrap().unwrap();
            black_box(forwarder.write_response(&mut out, buf, &head, &table, &route, &cx));
        }
        return;
    }
    let (head, writes) = match case {
        "wrk" => (WRK, true),
        "browser" => (BROWSER, true),
        "webdav" => (WEBDAV, true),
        "parse" => (BROWSER, false),
        _ => panic!("no case {case}"),
    };
    let cx = RequestContext {
        exchange,
        server_scheme: Scheme::Http,
        default_host: "",
        upgrade: true,
        pass_expect: true,
        close: false,
        cookie: CookieEdit::Keep,
    };
    for _ in 0..count {
        out.clear();
        let buf = black_box(head);
        let head = black_box(parse_request(buf, &limits, &mut table)).unwrap().unwrap();
        if writes {
            forwarder.write_request(&mut out, buf, &head, &table, &route, &cx);
            black_box(&out);
        }
    }
}
