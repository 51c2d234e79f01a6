//! Tests of chunk extensions in responses, which are checked and removed.

use proptest::prelude::*;
use weir_http::{BodyScanner, ChunkError, ChunkScanner, Dechunker, Framing};

/// Returns `body` without extensions, fed in pieces of `step` bytes.
fn stripped(body: &[u8], step: usize) -> Result<Vec<u8>, ChunkError> {
    let mut scanner = BodyScanner::of_response(Framing::Chunked);
    let mut out = Vec::new();
    for piece in body.chunks(step) {
        let taken = scanner.feed(piece)?;
        assert_eq!(taken, piece.len());
        match scanner.canonical(piece) {
            Some(left) => out.extend_from_slice(&left),
            None => out.extend_from_slice(piece),
        }
    }
    assert!(scanner.is_done());
    Ok(out)
}

#[test]
fn extensions_are_taken_out_however_the_body_is_cut() {
    let body = b"5;a=b\r\nhello\r\n6 ; c = \"d;\\\" e\"\t;f\r\n world\r\n0;last\r\nX-Sum: 1\r\n\r\n";
    let plain = b"5\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n";
    for step in 1..=body.len() {
        assert_eq!(stripped(body, step).unwrap(), plain, "in pieces of {step}");
    }
}

#[test]
fn a_body_in_its_usual_form_is_not_copied() {
    let mut scanner = ChunkScanner::of_response();
    let body = b"5\r\nhello\r\n0\r\n\r\n";
    assert_eq!(scanner.feed(body), Ok(body.len()));
    assert_eq!(scanner.canonical(body), None);
    assert_eq!(BodyScanner::of_response(Framing::Length(3)).canonical(b"abc"), None);
}

#[test]
fn data_behind_an_extension_can_be_moved_unread() {
    let mut scanner = ChunkScanner::of_response();
    scanner.feed(b"10;a\r\nabc").unwrap();
    assert_eq!(scanner.data_left(), 13);
    scanner.skip(13);
    assert_eq!(scanner.feed(b"\r\n0\r\n\r\n"), Ok(7));
    assert_eq!(scanner.canonical(b"\r\n0\r\n\r\n"), None);
    assert!(scanner.is_done());
}

#[test]
fn the_extensions_of_a_chunk_are_limited() {
    let max = usize::from(ChunkScanner::EXTENSION_BYTES_MAX);
    let body = |bytes: usize| format!("1;{}\r\na\r\n", "x".repeat(bytes - 1)).repeat(3) + "0\r\n\r\n";
    for step in [1, 1000, 100_000] {
        assert_eq!(stripped(body(max).as_bytes(), step).unwrap(), b"1\r\na\r\n1\r\na\r\n1\r\na\r\n0\r\n\r\n");
        assert_eq!(stripped(body(max + 1).as_bytes(), step), Err(ChunkError::MalformedExtension));
    }
    assert_eq!(
        ChunkError::MalformedExtension.to_string(),
        "a chunk extension that is malformed or over 1 KiB (RFC 9112 section 7.1.1)"
    );
}

#[test]
fn whitespace_before_the_line_end_goes_with_the_extensions() {
    for size in ["5 ", "5   ", "5\t", "5;a ", "5;a=b \t"] {
        let body = format!("{size}\r\nhello\r\n0   \r\n\r\n");
        for step in [1, 100] {
            assert_eq!(stripped(body.as_bytes(), step).unwrap(), b"5\r\nhello\r\n0\r\n\r\n", "{size:?}");
        }
    }
    assert_eq!(ChunkScanner::new().feed(b"5 \r\n"), Err(ChunkError::Extension), "not in requests");
}

#[test]
fn what_is_no_extension_is_refused() {
    for line in [
        "5;\r\n",
        "5;;a\r\n",
        "5;a=\r\n",
        "5;=b\r\n",
        "5;a b\r\n",
        "5;a=b c\r\n",
        "5;a=\"b\r\n",
        "5;a=\"b\"c\r\n",
        "5;a=\"\\\r\n",
        "5;a=\"\x7f\"\r\n",
        "5;a\n",
        "5;a\r\r",
        "5,a\r\n",
        "5;\u{e9}\r\n",
    ] {
        assert!(ChunkScanner::of_response().feed(line.as_bytes()).is_err(), "{line:?}");
    }
    // Requests may not have extensions.
    assert_eq!(ChunkScanner::new().feed(b"5;a=b\r\n"), Err(ChunkError::Extension));
    assert_eq!(Dechunker::new().feed(b"5;a=b\r\n", |_| {}), Err(ChunkError::Extension));
}

#[test]
fn a_dechunker_of_responses_passes_over_them() {
    let mut dechunker = Dechunker::of_response();
    let mut data = Vec::new();
    let body = b"5;a\r\nhello\r\n0;b=\"c\"\r\n\r\n";
    assert_eq!(dechunker.feed(body, |bytes| data.extend_from_slice(bytes)), Ok(body.len()));
    assert_eq!(data, b"hello");
    assert!(dechunker.is_done());
}

/// Generates extensions by the grammar of RFC 9112 section 7.1.1.
fn extensions() -> impl Strategy<Value = String> {
    r#"([ \t]{0,2};[ \t]{0,2}[a-z!]{1,5}([ \t]{0,2}=[ \t]{0,2}([a-z0-9]{1,5}|"([ !#-\[\]-~]|\\["\\a-c]){0,6}"))?){0,3}"#
}

proptest! {
    #[test]
    fn what_is_left_is_what_a_strict_reader_takes(
        chunks in prop::collection::vec(("[a-z]{1,12}", extensions()), 0..5),
        last in extensions(),
        step in 1usize..40,
    ) {
        let (mut body, mut plain) = (String::new(), String::new());
        for (data, extension) in &chunks {
            body += &format!("{:x}{extension}\r\n{data}\r\n", data.len());
            plain += &format!("{:x}\r\n{data}\r\n", data.len());
        }
        body += &format!("0{last}\r\n\r\n");
        plain += "0\r\n\r\n";
        prop_assert_eq!(stripped(body.as_bytes(), step), Ok(plain.clone().into_bytes()));
        let mut strict = ChunkScanner::new();
        prop_assert_eq!(strict.feed(plain.as_bytes()), Ok(plain.len()));
        prop_assert!(strict.is_done());
    }
}
