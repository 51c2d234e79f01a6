//! Tests of the detection of the end of bodies.

use weir_http::{BodyScanner, ChunkError, ChunkScanner, Dechunker, Framing, HeaderFault, TrailerFault};

/// Feeds `bytes` in pieces of `step` bytes.
fn scan(bytes: &[u8], step: usize) -> Result<(usize, ChunkScanner), ChunkError> {
    let mut scanner = ChunkScanner::new();
    let mut taken = 0;
    for piece in bytes.chunks(step) {
        let here = scanner.feed(piece)?;
        taken += here;
        if here < piece.len() {
            break;
        }
    }
    Ok((taken, scanner))
}

#[test]
fn a_chunked_body_ends_with_its_last_line_however_it_comes() {
    let body = b"5\r\nhello\r\n00B\r\n hello again\r\n0\r\nX-Sum: a b\t\xff\r\nEtag: x\r\n\r\n".to_vec();
    // The second chunk is one byte longer than its size, so this must fail first.
    assert!(scan(&body, 100).is_err());
    let body = b"5\r\nhello\r\n00B\r\nhello again\r\n0\r\nX-Sum: a b\t\xff\r\nEtag: x\r\n\r\n";
    let mut with_next = body.to_vec();
    with_next.extend_from_slice(b"GET / HTTP/1.1\r\n");
    for step in 1..with_next.len() {
        let (taken, scanner) = scan(&with_next, step).unwrap();
        assert!(scanner.is_done(), "in pieces of {step}");
        assert_eq!(taken, body.len(), "in pieces of {step}");
        assert_eq!(scanner.payload_bytes(), 16);
    }
}

#[test]
fn a_body_that_is_not_all_there_is_not_done() {
    let body = b"5\r\nhello\r\n0\r\nA: b\r\n\r\n";
    for bytes in 0..body.len() {
        let (taken, scanner) = scan(&body[..bytes], 100).unwrap();
        assert!(!scanner.is_done() && taken == bytes);
    }
}

#[test]
fn nothing_is_taken_behind_the_end() {
    let (_, mut scanner) = scan(b"0\r\n\r\n", 100).unwrap();
    assert_eq!(scanner.feed(b"more"), Ok(0));
    assert!(scanner.is_done());
}

#[test]
fn data_can_be_moved_unread() {
    let mut scanner = ChunkScanner::new();
    assert_eq!(scanner.data_left(), 0);
    scanner.feed(b"10\r\nabc").unwrap();
    assert_eq!(scanner.data_left(), 13);
    scanner.skip(12);
    assert_eq!((scanner.data_left(), scanner.payload_bytes()), (1, 15));
    scanner.skip(100);
    assert_eq!((scanner.data_left(), scanner.payload_bytes()), (0, 16));
    assert_eq!(scanner.feed(b"\r\n0\r\n\r\n"), Ok(7));
    assert!(scanner.is_done());
}

#[test]
fn errors_name_their_rule_and_status() {
    let error = |body: &str| scan(body.as_bytes(), 100).unwrap_err();
    assert_eq!(error("\r\n"), ChunkError::Size);
    assert_eq!(error("g\r\n"), ChunkError::Size);
    assert_eq!(error("5;a\r\n"), ChunkError::Extension);
    assert_eq!(error("5\t\r\n"), ChunkError::Extension);
    assert_eq!(error("5\n"), ChunkError::LineEnd);
    assert_eq!(error("5\r\r"), ChunkError::LineEnd);
    assert_eq!(error("1\r\nab"), ChunkError::LineEnd);
    assert_eq!(error("100000000000000\r\n"), ChunkError::SizeTooLarge);
    assert_eq!(error("0100000000000000\r\n"), ChunkError::SizeTooLarge);
    assert_eq!(error(&"0".repeat(1025)), ChunkError::SizeTooLarge);
    assert_eq!(error("00 5\r\n"), ChunkError::Extension);
    assert_eq!(error("0\r\nA\r\n"), ChunkError::Trailer(TrailerFault::Line(HeaderFault::NoColon)));
    assert_eq!(error("0\r\n: a\r\n"), ChunkError::Trailer(TrailerFault::Line(HeaderFault::EmptyName)));
    assert_eq!(error("0\r\n\rX"), ChunkError::LineEnd);
    assert_eq!(error("0\r\nHost: x\r\n"), ChunkError::Trailer(TrailerFault::Forbidden));
    assert_eq!(
        error("0\r\nHost: x\r\n").to_string(),
        "a trailer that must stand in the head (RFC 9110 section 6.5.1)"
    );
    assert_eq!(error("0\r\nHost: x\r\n").status(), 400);
}

#[test]
fn zeros_in_front_of_a_size_do_not_count_and_are_not_for_the_next_reader() {
    let body =
        [&b"0".repeat(1023)[..], b"5\r\nhello\r\n0a\r\n0123456789\r\n", &b"0".repeat(1024), b"\r\n\r\n"]
            .concat();
    for step in [1, 7, 1000, body.len()] {
        let mut scanner = ChunkScanner::new();
        let mut left = Vec::new();
        for piece in body.chunks(step) {
            assert_eq!(scanner.feed(piece), Ok(piece.len()), "in pieces of {step}");
            left.extend(scanner.canonical(piece).unwrap_or_else(|| piece.to_vec()));
        }
        assert!(scanner.is_done() && scanner.payload_bytes() == 15);
        assert_eq!(left, b"05\r\nhello\r\n0a\r\n0123456789\r\n0\r\n\r\n", "in pieces of {step}");
    }
}

#[test]
fn the_largest_size_is_counted() {
    let mut scanner = ChunkScanner::new();
    scanner.feed(b"ffffffffffffff\r\n").unwrap();
    assert_eq!(scanner.data_left(), (1 << 56) - 1);
}

#[test]
fn trailers_are_limited() {
    let line = format!("A: {}\r\n", "x".repeat(1000));
    let body = format!("0\r\n{}\r\n", line.repeat(16));
    assert!(scan(body.as_bytes(), 100).unwrap().1.is_done());
    let body = format!("0\r\n{}\r\n", line.repeat(17));
    assert_eq!(scan(body.as_bytes(), 100).unwrap_err(), ChunkError::TrailersTooLarge);
    assert_eq!(ChunkError::TrailersTooLarge.status(), 431);
    // Line ends count, too, so many short lines do not evade the limit.
    let body = format!("0\r\n{}\r\n", "A:\r\n".repeat(4_097));
    assert_eq!(scan(body.as_bytes(), 100).unwrap_err(), ChunkError::TrailersTooLarge);
}

#[test]
fn trailers_that_must_stand_in_the_head_are_refused_in_any_spelling() {
    for name in [
        "content-length",
        "TRANSFER-ENCODING",
        "Host",
        "Authorization",
        "Cookie",
        "Set-Cookie",
        "Content-Type",
        "Content-Encoding",
        "X-Forwarded-For",
        "X-Forwarded-Whatever",
        "Forwarded",
        "Via",
        "Trailer",
        "TE",
        "X-Voms-Fqans",
        "X-Weir-Upload",
        "x_weir_upload_size",
        "X-Remote-User",
        "x_remote_user",
        "Transfer_Encoding",
        "Content_Length",
        "Destination",
        "If-Unmodified-Since",
        "Proxy-Authorization",
        "Connection",
        "Upgrade",
        "Expect",
        "Range",
        "Max-Forwards",
    ] {
        assert!(scan(format!("0\r\n{name}: x\r\n").as_bytes(), 1).is_err(), "{name}");
    }
    for name in
        ["X-Checksum", "Digest", "Server-Timing", "grpc-status", "ETag", "Hosts", "Content-Lengthy", "xhost"]
    {
        assert!(scan(format!("0\r\n{name}: x\r\n\r\n").as_bytes(), 1).is_ok(), "{name}");
    }
    let long = "a".repeat(1000);
    assert!(scan(format!("0\r\n{long}: x\r\n\r\n").as_bytes(), 7).is_ok());
}

#[test]
fn a_counted_body_takes_what_was_counted() {
    let mut body = BodyScanner::new(Framing::Length(5));
    assert_eq!(body.remaining_exact(), Some(5));
    assert_eq!(body.feed(b"abc"), Ok(3));
    assert_eq!((body.remaining_exact(), body.is_done()), (Some(2), false));
    assert_eq!(body.feed(b"defg"), Ok(2));
    assert!(body.is_done() && body.may_end_here());
    let mut body = BodyScanner::new(Framing::Length(u64::MAX));
    body.skip(u64::MAX - 1);
    assert_eq!(body.unread_max(), 1);
}

#[test]
fn a_body_without_end_takes_everything_and_may_end_anywhere() {
    let mut body = BodyScanner::new(Framing::UntilClose);
    assert_eq!(body.feed(b"abc"), Ok(3));
    assert!(!body.is_done() && body.may_end_here());
    assert_eq!(body.remaining_exact(), None);
    assert!(!BodyScanner::new(Framing::Chunked).may_end_here());
    assert!(!BodyScanner::new(Framing::Length(1)).may_end_here());
    assert!(BodyScanner::new(Framing::None).is_done());
    assert!(BodyScanner::new(Framing::Length(0)).is_done());
}

#[test]
fn a_dechunker_hands_out_the_data() {
    let body = b"5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nA: b\r\n\r\nrest";
    for step in 1..body.len() {
        let mut dechunker = Dechunker::new();
        let (mut data, mut taken) = (Vec::new(), 0);
        for piece in body.chunks(step) {
            taken += dechunker.feed(piece, |bytes| data.extend_from_slice(bytes)).unwrap();
        }
        assert_eq!(data, b"hello world", "in pieces of {step}");
        assert_eq!(taken, body.len() - 4);
        assert!(dechunker.is_done());
    }
}
