//! Tests that valid but unusual parts of a head are rewritten in their usual form.

use weir_http::{ForwardedFor, RequestText, Version};

use crate::common::Way;

fn plain() -> Way {
    let mut way = Way::new();
    way.rules.x_forwarded = ForwardedFor::Pass;
    way
}

fn response(text: &str) -> String {
    Way::new().response(text, Version::Http11, RequestText::default()).0
}

#[test]
fn framing_and_version_are_written_in_their_usual_form() {
    for usual in ["transfer-encoding: chunked", "content-length: 12", "Content-Length: 0"] {
        let request = format!("POST / HTTP/1.1\nHost: h\n{usual}\n\n");
        assert_eq!(plain().request(&request), request, "as it came");
    }
    for odd in ["0012", "\t12", " 12\t", "12 ", "12"] {
        let request = format!("POST / HTTP/1.1\nHost: h\nContent-Length:{odd}\n\n");
        assert_eq!(plain().request(&request), "POST / HTTP/1.1\nHost: h\nContent-Length: 12\n\n", "{odd:?}");
    }
    let zero = "POST / HTTP/1.1\nHost: h\nContent-Length: 000\n\n";
    assert_eq!(plain().request(zero), "POST / HTTP/1.1\nHost: h\nContent-Length: 0\n\n");
    assert_eq!(plain().request("GET /a HTTP/1.7\nHost: h\n\n"), "GET /a HTTP/1.1\nHost: h\n\n");
}

#[test]
fn a_host_without_its_port_loses_the_colon() {
    assert_eq!(
        plain().request("GET / HTTP/1.1\nHost: h:\nX-A: b\n\n"),
        "GET / HTTP/1.1\nHost: h\nX-A: b\n\n"
    );
    assert_eq!(
        plain().request("GET http://[::1]:/ HTTP/1.1\nHost: x\n\n"),
        "GET / HTTP/1.1\nHost: [::1]\n\n"
    );
}

#[test]
fn lengths_of_responses_are_written_in_their_usual_form() {
    for odd in ["0012", "\t12", " 12\t", "12"] {
        let text = format!("HTTP/1.1 200 OK\nContent-Length:{odd}\nX-A: b\nDate: x\n\n");
        assert_eq!(response(&text), "HTTP/1.1 200 OK\nContent-Length: 12\nX-A: b\nDate: x\n\n", "{odd:?}");
    }
    for odd in ["\tchunked", " CHUNKED", " chunked \t"] {
        let text = format!("HTTP/1.1 200 OK\nTransfer-Encoding:{odd}\nDate: x\n\n");
        let usual = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nDate: x\n\n";
        assert_eq!(response(&text), usual, "{odd:?}");
    }
    assert_eq!(
        response("HTTP/1.2 204 None\nContent-Length: 000\nDate: x\n\n"),
        "HTTP/1.1 204 None\nDate: x\n\n"
    );
}
