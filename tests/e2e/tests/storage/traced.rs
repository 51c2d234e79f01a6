//! How files leave the disk.

use weir_testkit::Trace;

use crate::{Site, pattern};

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
