//! Tests of sources that break off, change, or become silent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weir_testkit::RawServer;

use crate::{Site, pattern};

const LENGTH: usize = 3_000_000;

/// Starts a source that breaks off its first response in the middle. It responds to the next requests as
/// `second` says.
fn breaking(second: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> RawServer {
    let answers = AtomicUsize::new(0);
    RawServer::start(move |peer| {
        let request = peer.request()?;
        if answers.fetch_add(1, Ordering::SeqCst) > 0 {
            return peer.send(second(&String::from_utf8_lossy(&request.head)));
        }
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\nETag: \"a\"\r\n\r\n"))?;
        peer.send(&pattern(LENGTH)[..LENGTH / 2])
    })
}

fn first_byte(head: &str) -> Option<usize> {
    let range = head.lines().find_map(|line| line.strip_prefix("Range: bytes="))?;
    range.strip_suffix('-')?.parse().ok()
}

#[test]
fn a_transfer_goes_on_where_its_source_broke_off() {
    let source = breaking(|head| {
        let from = first_byte(head).expect("a range");
        assert!(from == LENGTH / 2 && head.contains("If-Match: \"a\""), "{head}");
        let range = format!("Content-Range: bytes {from}-{}/{LENGTH}\r\nETag: \"a\"\r\n", LENGTH - 1);
        let head =
            format!("HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\n{range}\r\n", LENGTH - from);
        [head.as_bytes(), &pattern(LENGTH)[from..]].concat()
    });
    let site = Site::new();
    let from = format!("http://{}/f", source.addr());
    site.copies("/f", &[("Source", &from)]);
    assert!(site.read("f").unwrap() == pattern(LENGTH));
    assert_eq!(source.failures(), [""; 0]);
}

#[test]
fn a_file_that_was_changed_meanwhile_is_fetched_anew() {
    let source = breaking(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nETag: \"b\"\r\n\r\nnew".to_vec());
    let site = Site::new();
    let from = format!("http://{}/f", source.addr());
    site.copies("/f", &[("Source", &from)]);
    assert_eq!(site.read("f").unwrap(), b"new");
    site.settles(&["f"]);
}

#[test]
fn a_part_of_another_version_is_never_put_behind_what_has_come() {
    let answers = Arc::new(AtomicUsize::new(0));
    let source = breaking({
        let answers = Arc::clone(&answers);
        move |head| match first_byte(head) {
            Some(from) => {
                answers.fetch_add(1, Ordering::SeqCst);
                let range = format!("Content-Range: bytes {from}-{}/{LENGTH}\r\nETag: \"b\"\r\n", LENGTH - 1);
                let head = format!(
                    "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\n{range}\r\n",
                    LENGTH - from
                );
                [head.into_bytes(), vec![b'x'; LENGTH - from]].concat()
            }
            None => b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nETag: \"b\"\r\n\r\nnew".to_vec(),
        }
    });
    let site = Site::new();
    site.copies("/f", &[("Source", &format!("http://{}/f", source.addr()))]);
    assert_eq!((site.read("f").unwrap(), answers.load(Ordering::SeqCst)), (b"new".to_vec(), 1));
}

#[test]
fn a_source_that_breaks_off_again_and_again_is_given_up() {
    let source = breaking(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec());
    let site = Site::with("retries = 1\n");
    site.write("f", "old");
    let line = site.fails("/f", &[("Source", &format!("http://{}/f", source.addr()))]);
    assert!(line.contains("broken off 5 bytes before the end"), "{line}");
    assert_eq!((site.read("f").unwrap(), source.connections()), (b"old".to_vec(), 2));
    site.settles(&["f"]);
}

/// Starts a source that breaks off after each piece of a file.
fn piecewise(piece: usize) -> RawServer {
    RawServer::start(move |peer| {
        let request = peer.request()?;
        let from = first_byte(&String::from_utf8_lossy(&request.head)).unwrap_or(0);
        let status = match from {
            0 => "200 OK".to_owned(),
            _ => format!("206 Partial Content\r\nContent-Range: bytes {from}-{}/{LENGTH}", LENGTH - 1),
        };
        peer.send(format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nETag: \"a\"\r\n\r\n", LENGTH - from))?;
        peer.send(&pattern(LENGTH)[from..LENGTH.min(from + piece)])
    })
}

#[test]
fn a_transfer_that_comes_further_may_break_off_more_often() {
    // Three pieces: there are more breaks than attempts.
    let source = piecewise(1_200_000);
    let site = Site::with("retries = 1\n");
    site.copies("/f", &[("Source", &format!("http://{}/f", source.addr()))]);
    assert!(site.read("f").unwrap() == pattern(LENGTH));
    assert_eq!(source.connections(), 3);
    // A few bytes do not count as progress.
    let source = piecewise(1_000);
    let line = site.fails("/g", &[("Source", &format!("http://{}/f", source.addr()))]);
    assert!(line.contains("broken off"), "{line}");
    assert_eq!(source.connections(), 2);
    site.settles(&["f"]);
}

#[test]
fn a_source_that_falls_silent_is_given_up() {
    let source = RawServer::start(|peer| {
        peer.request()?;
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")?;
        peer.hold();
        Ok(())
    });
    let site = Site::with("retries = 0\nidle-timeout = \"300ms\"\n");
    let line = site.fails("/f", &[("Source", &format!("http://{}/f", source.addr()))]);
    assert!(line.contains("nothing has moved for 300 ms"), "{line}");
    let silent = RawServer::silent();
    let line = site.fails("/f", &[("Source", &format!("http://{}/f", silent.addr()))]);
    assert!(line.contains("no answer within 300 ms"), "{line}");
    site.settles(&[]);
}

#[test]
fn a_source_that_sends_a_byte_now_and_then_is_given_up() {
    let source = RawServer::start(|peer| {
        peer.request()?;
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")?;
        // Sends until Weir gives up.
        let _ = peer.send_slowly(vec![b'x'; 100_000], Duration::from_millis(5));
        Ok(())
    });
    let from = format!("http://{}/f", source.addr());
    let site = Site::with("retries = 0\nidle-timeout = \"500ms\"\nmin-rate = \"1MiB/s\"\n");
    let line = site.fails("/f", &[("Source", &from)]);
    assert!(line.contains("too slow: ") && line.contains("1048576 a second are the least"), "{line}");
    site.settles(&[]);
}

#[test]
fn an_answer_without_an_end_of_its_own_is_no_file() {
    let source = RawServer::start(|peer| {
        peer.request()?;
        peer.send("HTTP/1.1 200 OK\r\n\r\ncontent")
    });
    let site = Site::new();
    let line = site.fails("/f", &[("Source", &format!("http://{}/f", source.addr()))]);
    assert!(line.contains("does not say where it ends"), "{line}");
    let source = RawServer::start(|peer| {
        peer.request()?;
        peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ncon\r\n4\r\ntent\r\n0\r\n\r\n")
    });
    site.copies("/f", &[("Source", &format!("http://{}/f", source.addr()))]);
    assert_eq!(site.read("f").unwrap(), b"content");
}

#[test]
fn an_answer_that_comes_byte_by_byte_is_read_as_one() {
    let source = RawServer::start(|peer| {
        peer.request()?;
        let answer = "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ncontent";
        peer.send_slowly(answer, Duration::from_millis(2))
    });
    let site = Site::new();
    site.copies("/f", &[("Source", &format!("http://{}/f", source.addr()))]);
    assert_eq!(site.read("f").unwrap(), b"content");
}

#[test]
fn a_head_that_never_ends_is_given_up_although_something_moves() {
    let source = RawServer::start(|peer| {
        peer.request()?;
        // Sends until Weir gives up.
        let _ = peer
            .send_slowly(format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(20_000)), Duration::from_millis(5));
        Ok(())
    });
    let site = Site::with("retries = 0\nidle-timeout = \"500ms\"\n");
    let line = site.fails("/f", &[("Source", &format!("http://{}/f", source.addr()))]);
    assert!(line.contains("no answer within 500 ms"), "{line}");
}

#[test]
fn a_source_that_reads_the_file_for_its_checksum_first_gets_the_time() {
    let source = RawServer::start(|peer| {
        peer.request()?;
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nDigest: adler32=0bcb02fc\r\n\r\n";
        // Fails if the client has given up.
        let _ = peer.send_slowly(head, Duration::from_millis(40)).and_then(|()| peer.send("content"));
        Ok(())
    });
    let site = Site::with("retries = 0\nidle-timeout = \"1s\"\n");
    let from = format!("http://{}/f", source.addr());
    site.copies("/f", &[("Source", &from), ("RequireChecksumVerification", "true")]);
    assert_eq!(site.read("f").unwrap(), b"content");
    // Without a requested checksum, the shorter idle timeout applies.
    assert!(site.fails("/g", &[("Source", &from)]).contains("no answer within 1000 ms"));
}
