//! Tests with a file of 1 TiB, sparse so that it uses no space.

use std::io::{Seek, SeekFrom, Write};

use crate::{Site, message};

#[test]
fn positions_within_a_terabyte_are_right() {
    const LENGTH: u64 = 1 << 40;
    const MARK: u64 = (900 << 30) + 12_345;
    let site = Site::readable("");
    let mut file = std::fs::File::create(site.root.path().join("huge")).unwrap();
    file.set_len(LENGTH).unwrap();
    file.seek(SeekFrom::Start(MARK)).unwrap();
    file.write_all(b"here").unwrap();
    let mut client = site.weir.client();
    client.send(message("HEAD", "/huge", &[], b""));
    assert_eq!(client.response_to_head().header("content-length"), Some("1099511627776"));
    let range = format!("bytes={}-{}", MARK - 100_000, MARK + 99_999);
    client.send(message("GET", "/huge", &[("Range", &range)], b""));
    let got = client.response();
    assert_eq!(got.body.len(), 200_000);
    assert_eq!(&got.body[100_000..100_004], b"here");
    assert!(got.body[..100_000].iter().all(|byte| *byte == 0));
    // The last bytes, with no bytes after them.
    client.send(message("GET", "/huge", &[("Range", "bytes=-5")], b""));
    let got = client.response();
    assert_eq!(got.header("content-range"), Some("bytes 1099511627771-1099511627775/1099511627776"));
    assert_eq!(got.body, [0; 5]);
}
