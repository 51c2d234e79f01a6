//! Tests of range requests.

use crate::{Site, message};

#[test]
fn one_range_is_one_part() {
    let site = Site::readable("");
    site.write("f", "0123456789");
    let mut client = site.weir.client();
    for (range, said, body) in [
        ("bytes=0-0", "bytes 0-0/10", "0"),
        ("bytes=2-4", "bytes 2-4/10", "234"),
        ("bytes=7-", "bytes 7-9/10", "789"),
        ("bytes=-3", "bytes 7-9/10", "789"),
        ("bytes=5-100", "bytes 5-9/10", "56789"),
        // Ranges close together are merged into one part.
        ("bytes=0-1,3-4", "bytes 0-4/10", "01234"),
    ] {
        client.send(message("GET", "/f", &[("Range", range)], b""));
        let got = client.response();
        assert_eq!((got.status, got.text().as_str()), (206, body), "{range}");
        assert_eq!(got.header("content-range"), Some(said), "{range}");
    }
    for range in ["bytes=a-b", "lines=1-2", "bytes=4-2"] {
        client.send(message("GET", "/f", &[("Range", range)], b""));
        assert_eq!(client.response().status, 200, "{range}");
    }
    client.send(message("GET", "/f", &[("Range", "bytes=10-")], b""));
    let got = client.response();
    assert_eq!((got.status, got.header("content-range")), (416, Some("bytes */10")));
}

#[test]
fn several_ranges_come_in_parts_that_say_what_they_are() {
    let site = Site::readable("");
    let content: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    site.write("f.txt", &content);
    let mut client = site.weir.client();
    client.send(message("GET", "/f.txt", &[("Range", "bytes=0-9, 1000-1999, 300000-399999")], b""));
    let got = client.response();
    assert_eq!(got.status, 206);
    let kind = got.header("content-type").unwrap().to_owned();
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").unwrap();
    let mut expected = Vec::new();
    for (first, last) in [(0, 9), (1000, 1999), (300_000, 399_999)] {
        let line_end = if first == 0 { "" } else { "\r\n" };
        expected.extend_from_slice(
            format!(
                "{line_end}--{boundary}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes {first}-{last}/400000\r\n\r\n"
            )
            .as_bytes(),
        );
        expected.extend_from_slice(&content[first..=last]);
    }
    expected.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    assert!(got.body == expected);
    client.send(message("HEAD", "/f.txt", &[], b""));
    assert_eq!(client.response_to_head().header("content-length"), Some("400000"));
}

#[test]
fn a_range_of_another_version_gets_the_whole_file() {
    let site = Site::readable("");
    site.write("f", "0123456789");
    let etag = site.get("/f").header("etag").unwrap().to_owned();
    let part = site.get_with("/f", &[("Range", "bytes=0-1"), ("If-Range", &etag)]);
    assert_eq!((part.status, part.text().as_str()), (206, "01"));
    site.write("f", "abcdefghijk");
    let whole = site.get_with("/f", &[("Range", "bytes=0-1"), ("If-Range", &etag)]);
    assert_eq!((whole.status, whole.text().as_str()), (200, "abcdefghijk"));
}
