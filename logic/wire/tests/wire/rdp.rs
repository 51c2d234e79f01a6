//! Tests of the cookie of remote desktop connections.

use proptest::prelude::*;
use weir_wire::rdp::{BYTES_MAX, Cookie, cookie};

const HEAD: [u8; 11] = [3, 0, 0, 42, 37, 0xe0, 0, 0, 0, 0, 0];

fn request(text: &str) -> Vec<u8> {
    [&HEAD[..], text.as_bytes()].concat()
}

#[test]
fn the_value_is_what_stands_between_the_equals_sign_and_the_end_of_the_line() {
    let bytes = request("Cookie: mstshash=user1\r\n\x01\0\x08\0\x03\0\0\0");
    assert_eq!(cookie(&bytes, "mstshash"), Cookie::Value(b"user1"));
    assert_eq!(cookie(&request("COOKIE:   MSTSHASH=a b\r\n"), "mstshash"), Cookie::Value(b"a b"));
    assert_eq!(cookie(&request("Cookie: msts=1.2.3\r\n"), "msts"), Cookie::Value(b"1.2.3"));
}

#[test]
fn every_beginning_is_incomplete() {
    let bytes = request("Cookie: mstshash=user1\r\n");
    for end in 0..bytes.len() {
        assert_eq!(cookie(&bytes[..end], "mstshash"), Cookie::Incomplete, "{end}");
    }
}

#[test]
fn what_is_something_else_has_none() {
    assert_eq!(cookie(b"G", "mstshash"), Cookie::Absent);
    assert_eq!(cookie(&request("Cookie: other=1\r\n"), "mstshash"), Cookie::Absent);
    assert_eq!(cookie(&request("Cookie: mstshashes=1\r\n"), "mstshash"), Cookie::Absent);
    assert_eq!(cookie(&request("\x01\0\x08\0\x03\0\0\0"), "mstshash"), Cookie::Absent);
    assert_eq!(cookie(&request("Cookie: mstshash=a\rb"), "mstshash"), Cookie::Absent);
}

#[test]
fn a_value_without_end_is_given_up() {
    let bytes = request(&format!("Cookie: mstshash={}", "a".repeat(BYTES_MAX)));
    assert_eq!(cookie(&bytes, "mstshash"), Cookie::Absent);
}

proptest! {
    #[test]
    fn any_bytes_are_taken(bytes: Vec<u8>, name in "[a-z]{0,9}") {
        let with_head = [&HEAD[..], &bytes].concat();
        let _ = (cookie(&bytes, &name), cookie(&with_head, &name));
    }
}
