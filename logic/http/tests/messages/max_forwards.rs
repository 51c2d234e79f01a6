//! Tests of Max-Forwards, which limits how often TRACE and OPTIONS are forwarded (RFC 9110 section 7.6.2).

use weir_http::{ForwardedFor, HeadLimits, HeaderTable, RequestError, append_trace, parse_request};

use crate::common::Way;

fn seen_by_server(text: &str) -> String {
    let mut way = Way::new();
    way.rules.x_forwarded = ForwardedFor::Pass;
    way.request(text)
}

fn read(text: &str) -> Result<Option<u32>, RequestError> {
    let buf = text.replace('\n', "\r\n").into_bytes();
    let head = parse_request(&buf, &HeadLimits::default(), &mut HeaderTable::new());
    head.map(|head| head.unwrap().max_forwards)
}

#[test]
fn each_forwarding_counts_down() {
    for method in ["OPTIONS", "TRACE"] {
        for (came, goes) in [("1", "0"), ("10", "9"), ("007", "6"), ("4294967295", "4294967294")] {
            assert_eq!(
                seen_by_server(&format!("{method} / HTTP/1.1\nHost: h\nmax-forwards:  {came}\nA: b\n\n")),
                format!("{method} / HTTP/1.1\nHost: h\nMax-Forwards: {goes}\nA: b\n\n")
            );
        }
    }
}

#[test]
fn a_number_larger_than_any_chain_becomes_the_largest_that_is_kept() {
    let text = format!("TRACE / HTTP/1.1\nHost: h\nMax-Forwards: {}\n\n", "9".repeat(100));
    assert_eq!(read(&text), Ok(Some(u32::MAX)));
    assert_eq!(seen_by_server(&text), "TRACE / HTTP/1.1\nHost: h\nMax-Forwards: 4294967294\n\n");
}

#[test]
fn what_is_not_one_number_is_refused() {
    for line in ["", "-1", "+1", "1.0", "1, 1", "0x1", "one", "1 1"] {
        let refused = read(&format!("OPTIONS * HTTP/1.1\nHost: h\nMax-Forwards: {line}\n\n"));
        assert_eq!(refused, Err(RequestError::MaxForwards), "{line:?}");
    }
    let twice = read("OPTIONS * HTTP/1.1\nHost: h\nMax-Forwards: 1\nMax-Forwards: 1\n\n");
    assert_eq!(twice, Err(RequestError::MaxForwards));
    assert_eq!(RequestError::MaxForwards.status(), 400);
}

#[test]
fn other_methods_are_forwarded_as_they_came() {
    for method in ["GET", "PROPFIND", "BREW"] {
        let text = format!("{method} / HTTP/1.1\nHost: h\nMax-Forwards: nonsense\n\n");
        assert_eq!(read(&text), Ok(None));
        assert_eq!(seen_by_server(&text), text);
    }
    assert_eq!(read("OPTIONS / HTTP/1.1\nHost: h\n\n"), Ok(None));
}

#[test]
fn a_trace_shows_how_the_request_came_and_nothing_that_may_be_secret() {
    let text = "\nTRACE /a?b HTTP/1.1\nHost: h\nAuthorization: Basic eDp5\nCookie: a=b\nVia: 1.1 front\nX-Api-Key: k\n\
                Referer: http://h/?token=t\nX-Forwarded-For: 10.0.0.1\nmax-forwards: 0\nProxy-Authorization: Basic eDp5\n\n";
    let buf = text.replace('\n', "\r\n").into_bytes();
    let mut table = HeaderTable::new();
    let head = parse_request(&buf, &HeadLimits::default(), &mut table).unwrap().unwrap();
    let mut out = Vec::new();
    append_trace(&mut out, &buf, &head, &table);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "TRACE /a?b HTTP/1.1\r\nHost: h\r\nVia: 1.1 front\r\nmax-forwards: 0\r\n\r\n"
    );
}
