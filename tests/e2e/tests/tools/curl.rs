//! Tests uploads and downloads with curl, with every framing.

use crate::site;
use crate::tool::{run, text};

#[test]
fn curl_gets_puts_and_expects() {
    let site = site();
    let directory = weir_testkit::TempDir::new().unwrap();
    let file = directory.path().join("body");
    std::fs::write(&file, vec![b'x'; 2_000_000]).unwrap();
    let get = run("curl", &["-sS", &site.url("/bytes/100000")]);
    assert_eq!(get.stdout.len(), 100_000);
    let upload = ["-sS", "-T", file.to_str().unwrap(), &site.url("/upload")];
    assert!(text(&run("curl", &upload)).contains("\"bytes\":2000000"));
    let chunked =
        ["-sS", "-H", "Transfer-Encoding: chunked", "-T", file.to_str().unwrap(), &site.url("/upload")];
    assert!(text(&run("curl", &chunked)).contains("\"bytes\":2000000"));
    let expect = ["-sS", "-H", "Expect: 100-continue", "-T", file.to_str().unwrap(), &site.url("/upload")];
    assert!(text(&run("curl", &expect)).contains("\"bytes\":2000000"));
    let old = run("curl", &["-sS", "--http1.0", &site.url("/bytes/70000?chunked")]);
    assert_eq!(old.stdout.len(), 70_000);
    let several = run(
        "curl",
        &[
            "-sS",
            "-w",
            "%{num_connects} ",
            "-o",
            "/dev/null",
            "-o",
            "/dev/null",
            &site.url("/"),
            &site.url("/"),
        ],
    );
    assert_eq!(text(&several), "1 0 ");
}
