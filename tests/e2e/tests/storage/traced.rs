//! Tests of the system calls that send files.

use weir_testkit::{RawClient, Trace};

use crate::{Site, message, pattern};

#[test]
fn the_kernel_sends_a_file_and_is_told_to_read_ahead_if_that_is_worth_it() {
    let site = Site::readable("");
    let large = pattern(4 << 20);
    site.write("large", &large);
    site.write("small", pattern(100_000));
    let Some(trace) = Trace::attach(site.weir.pid(), &["fadvise64", "sendfile"]) else { return };
    assert!(site.get("/large").body == large);
    assert_eq!(site.get("/small").body.len(), 100_000);
    let calls = trace.end();
    let has = |call: &str, of: &str, part: &str| {
        calls.iter().any(|line| line.contains(call) && line.contains(of) && line.contains(part))
    };
    assert!(has("sendfile(", "/large>", ""), "{calls:#?}");
    assert!(has("fadvise64(", "/large>", "POSIX_FADV_SEQUENTIAL"), "{calls:#?}");
    assert!(!has("fadvise64(", "/small>", "POSIX_FADV_SEQUENTIAL"), "{calls:#?}");
}

#[test]
fn a_full_socket_is_waited_for_and_not_asked() {
    let site = Site::readable("");
    let large = pattern(30_000_000);
    site.write("large", &large);
    let Some(trace) = Trace::attach(site.weir.pid(), &["ppoll", "sendfile"]) else { return };
    let mut client = RawClient::connect(site.weir.addr("web")).receive_buffer(256 * 1024);
    client.send(message("GET", "/large", &[], b""));
    assert_eq!(client.response_head().status, 200);
    assert!(client.read_exact(large.len()) == large);
    let calls = trace.end();
    assert!(calls.iter().any(|line| line.contains("sendfile(")), "{calls:#?}");
    assert!(!calls.iter().any(|line| line.contains("ppoll")), "{calls:#?}");
}
