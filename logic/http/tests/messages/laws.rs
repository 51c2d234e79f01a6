//! Property tests of parser, forwarder and body scanners over generated messages.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use weir_http::{
    BodyScanner, ChunkScanner, CookieEdit, Dechunker, Framing, HeadLimits, HeaderTable, RequestContext,
    ResponseTo, TlsNames, parse_request, parse_response,
};

use crate::common::{self, Way};

/// Generates lines for heads: valid, nearly valid and known ones.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[A-Za-z][A-Za-z0-9-]{0,20}: ?[ -~]{0,40}",
        1 => "Content-Length: [0-9]{1,4}",
        1 => "Transfer-Encoding: (chunked|Chunked|gzip)",
        2 => "Connection: (close|keep-alive|upgrade|x-a, y|[a-z, -]{0,20})",
        1 => "(X-Forwarded-For|Forwarded|X-Remote-User|X_Remote_User|Via|TE|Upgrade|Expect|X-A): [ -~]{0,20}",
        1 => "Destination: https?://[a-z]{1,4}/[a-z/]{0,9}",
        1 => "If: [<>()a-z/:\\[\\]\" ]{0,30}",
        1 => "[ -~\\x00-\\x1f\\x7f-\\xff]{0,20}",
    ]
}

fn request_line() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "(GET|PUT|HEAD|OPTIONS|MOVE|BREW) /[!-~&&[^#]]{0,20} HTTP/1\\.[01]",
        1 => "(GET|OPTIONS) https?://[a-z]{1,5}(:[0-9]{1,5})?(/[a-z]{0,5})?(\\?[a-z]{0,5})? HTTP/1\\.[01]",
        1 => "(OPTIONS|GET) \\* HTTP/1\\.1",
        1 => "CONNECT [a-z]{1,5}(:[0-9]{1,5})? HTTP/1\\.1",
        1 => "[ -~]{0,30}",
    ]
}

fn line_end() -> impl Strategy<Value = &'static str> {
    prop_oneof![60 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r"), 1 => Just("\r\r\n"), 1 => Just("\r\n ")]
}

fn head(first: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
    let lines = prop::collection::vec((line(), line_end()), 0..8);
    (first, line_end(), lines).prop_map(|(first, end, lines)| {
        let mut head = first + end;
        for (line, end) in lines {
            head.push_str(&line);
            head.push_str(end);
        }
        head.push_str("\r\n");
        // Converts characters from 0x80 to single bytes.
        head.chars().map(|c| c as u32 as u8).collect()
    })
}

fn request_head() -> impl Strategy<Value = Vec<u8>> {
    let host = prop_oneof![
        9 => "\r\nHost: [a-z]{1,8}(\\.example)?(:[0-9]{1,4})?",
        1 => "(\r\nHost: [ -~]{0,10}){0,2}",
    ];
    head((request_line(), host).prop_map(|(line, host)| line + &host))
}

fn response_head() -> impl Strategy<Value = Vec<u8>> {
    head(prop_oneof![6 => "HTTP/1\\.[01] [1-5][0-9]{2} [ -~]{0,10}", 1 => "[ -~]{0,20}"])
}

fn limits() -> HeadLimits {
    HeadLimits::default()
}

/// Checks the generators: if they made few valid heads, the tests of accepted heads would prove little.
#[test]
fn enough_of_the_heads_tried_are_accepted() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut accepted = |heads: BoxedStrategy<Vec<u8>>, parse: fn(&[u8]) -> bool| {
        (0..500).filter(|_| parse(&heads.new_tree(&mut runner).unwrap().current())).count()
    };
    let requests = accepted(request_head().boxed(), |buf| {
        matches!(parse_request(buf, &limits(), &mut HeaderTable::new()), Ok(Some(_)))
    });
    let responses = accepted(response_head().boxed(), |buf| {
        matches!(parse_response(buf, ResponseTo::default(), &limits(), &mut HeaderTable::new()), Ok(Some(_)))
    });
    assert!(requests > 100 && requests < 400, "{requests} of 500 requests");
    assert!(responses > 100 && responses < 400, "{responses} of 500 responses");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn bytes_of_any_kind_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut table = HeaderTable::new();
        let _ = parse_request(&bytes, &limits(), &mut table);
        let _ = parse_response(&bytes, ResponseTo::default(), &limits(), &mut table);
        let _ = ChunkScanner::new().feed(&bytes);
        let _ = ChunkScanner::of_response().feed(&bytes);
    }

    #[test]
    fn what_is_accepted_an_independent_parser_reads_alike(buf in request_head()) {
        let mut table = HeaderTable::new();
        if let Ok(Some(head)) = parse_request(&buf, &limits(), &mut table) {
            let mut headers = [httparse::EMPTY_HEADER; 64];
            let mut other = httparse::Request::new(&mut headers);
            prop_assert_eq!(other.parse(&buf), Ok(httparse::Status::Complete(head.head_bytes as usize)));
            prop_assert_eq!(other.method.unwrap().as_bytes(), head.method.bytes(&buf));
            prop_assert_eq!(other.path.unwrap().as_bytes(), head.target.span.of(&buf));
            prop_assert_eq!(other.version, Some(head.version as u8));
            let theirs: Vec<_> = other.headers.iter().map(|h| (h.name.as_bytes(), h.value)).collect();
            let ours: Vec<_> = table.entries().iter().map(|e| (e.name().of(&buf), e.value().of(&buf))).collect();
            prop_assert_eq!(theirs, ours);
        }
    }

    #[test]
    fn an_accepted_response_an_independent_parser_reads_alike(buf in response_head()) {
        let mut table = HeaderTable::new();
        if let Ok(Some(head)) = parse_response(&buf, ResponseTo::default(), &limits(), &mut table) {
            let mut headers = [httparse::EMPTY_HEADER; 64];
            let mut other = httparse::Response::new(&mut headers);
            prop_assert_eq!(other.parse(&buf), Ok(httparse::Status::Complete(head.head_bytes as usize)));
            prop_assert_eq!(other.code, Some(head.status));
            let theirs: Vec<_> = other.headers.iter().map(|h| (h.name.as_bytes(), h.value)).collect();
            let ours: Vec<_> = table.entries().iter().map(|e| (e.name().of(&buf), e.value().of(&buf))).collect();
            prop_assert_eq!(theirs, ours);
        }
    }

    #[test]
    fn the_verdict_does_not_depend_on_how_much_came_at_once(buf in request_head()) {
        let mut table = HeaderTable::new();
        let whole = parse_request(&buf, &limits(), &mut table);
        let first = (0..=buf.len())
            .map(|bytes| parse_request(&buf[..bytes], &limits(), &mut table))
            .find(|verdict| *verdict != Ok(None))
            .unwrap_or(Ok(None));
        match (whole, first) {
            (Err(whole), Err(first)) => prop_assert_eq!(whole.status(), first.status(), "{} / {}", whole, first),
            (whole, first) => prop_assert_eq!(whole, first),
        }
    }

    #[test]
    fn the_verdict_on_a_response_does_not_depend_on_how_much_came_at_once(buf in response_head()) {
        let mut table = HeaderTable::new();
        let to = ResponseTo::default();
        let whole = parse_response(&buf, to, &limits(), &mut table);
        let first = (0..=buf.len())
            .map(|bytes| parse_response(&buf[..bytes], to, &limits(), &mut table))
            .find(|verdict| *verdict != Ok(None))
            .unwrap_or(Ok(None));
        match (whole, first) {
            (Err(_), Err(_)) => {}
            (whole, first) => prop_assert_eq!(whole, first),
        }
    }

    #[test]
    fn what_follows_a_head_does_not_change_it(buf in request_head(), behind in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut table = HeaderTable::new();
        if let Ok(Some(head)) = parse_request(&buf, &limits(), &mut table) {
            let with_more = [&buf[..], &behind].concat();
            prop_assert_eq!(parse_request(&with_more, &limits(), &mut table), Ok(Some(head)));
        }
    }

    #[test]
    fn what_a_server_gets_is_sound_and_framed_alike(buf in request_head(), upgrade: bool, pass_expect: bool, close: bool) {
        let mut table = HeaderTable::new();
        if let Ok(Some(head)) = parse_request(&buf, &limits(), &mut table) {
            let way = Way::new();
            let forwarder = way.forwarder();
            let peer = forwarder.peer(common::CLIENT.parse().unwrap());
            let tls = TlsNames::default();
            let cx = RequestContext {
                exchange: common::exchange(&peer, "id", &tls),
                server_scheme: way.server_scheme,
                default_host: "h",
                upgrade,
                pass_expect,
                close,
                cookie: CookieEdit::Remove(b"a"),
            };
            let mut out = Vec::new();
            forwarder.write_request(&mut out, &buf, &head, &table, &way.route, &cx);
            let mut table = HeaderTable::new();
            let again = parse_request(&out, &limits(), &mut table);
            prop_assert!(matches!(again, Ok(Some(_))), "{again:?}: {:?}", String::from_utf8_lossy(&out));
            let again = again.unwrap().unwrap();
            prop_assert_eq!(again.head_bytes as usize, out.len());
            prop_assert_eq!(again.framing, head.framing);
            prop_assert_eq!(again.method.bytes(&out), head.method.bytes(&buf));
            prop_assert_eq!(again.host.unwrap().of(&out), head.host.map_or(&b"h"[..], |host| host.of(&buf)));
            let text = String::from_utf8_lossy(&out).to_ascii_lowercase();
            prop_assert!(!text.contains("x-remote-user") && !text.contains("x_remote_user"));
            prop_assert_eq!(text.matches("\r\nx-forwarded-for: ").count(), 1);
        }
    }

    #[test]
    fn chunks_are_taken_off_as_they_were_put_on(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..50), 0..8),
        behind in prop::collection::vec(any::<u8>(), 0..10),
        step in 1_usize..80,
        trailer: bool,
    ) {
        let mut body = Vec::new();
        for piece in &pieces {
            body.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            body.extend_from_slice(piece);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(if trailer { b"0\r\nX-Sum: abc\r\n\r\n" } else { b"0\r\n\r\n" });
        let bytes = body.len();
        body.extend_from_slice(&behind);

        let mut scanner = BodyScanner::new(Framing::Chunked);
        let mut dechunker = Dechunker::new();
        let (mut scanned, mut dechunked, mut data) = (0, 0, Vec::new());
        for piece in body.chunks(step) {
            scanned += scanner.feed(piece).unwrap();
            dechunked += dechunker.feed(piece, |bytes| data.extend_from_slice(bytes)).unwrap();
        }
        prop_assert_eq!((scanned, dechunked), (bytes, bytes));
        prop_assert!(scanner.is_done() && dechunker.is_done());
        prop_assert_eq!(data, pieces.concat());
    }

    #[test]
    fn a_chunked_body_is_judged_alike_however_it_comes(
        body in "([0-9a-f]{1,2}\r\n[a-z]{0,20}\r\n){0,3}[0-9a-z;\r\n :\\x00]{0,20}", step in 1_usize..20,
    ) {
        let body = body.as_bytes();
        let mut at_once = ChunkScanner::new();
        let whole = at_once.feed(body);
        let mut in_pieces = ChunkScanner::new();
        let pieces: Result<usize, _> = body.chunks(step).map(|piece| in_pieces.feed(piece)).sum();
        prop_assert_eq!(whole, pieces);
        prop_assert_eq!(at_once.is_done(), in_pieces.is_done());
    }
}
