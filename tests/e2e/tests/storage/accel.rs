//! Tests of `X-Accel-Redirect`: a trusted proxy gets the name of a file, other clients get the file.

use std::path::Path;

use weir_e2e::Weir;
use weir_testkit::{RawClient, TempDir};

use crate::message;

fn area(root: &Path) -> String {
    let more = "[storage-area.data.accel-redirect]\nprefix = \"/protected files\"\ntrusted = \"127.0.0.1\"\n\
                [storage-area.data.access]\nanonymous-read = true\n";
    crate::config(root, "", more)
}

const ASKS: (&str, &str) = ("X-Sendfile-Type", "X-Accel-Redirect");

/// Returns the text of a response, and the name of the file for the proxy.
fn get(client: &mut RawClient, lines: &[(&str, &str)]) -> (String, Option<String>) {
    let answer = client.exchange(message("GET", "/a%20b.html", lines, b""));
    assert_eq!(answer.status, 200);
    (answer.text(), answer.header("x-accel-redirect").map(str::to_owned))
}

#[test]
fn a_proxy_that_asks_for_names_gets_them_and_nobody_else() {
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("a b.html"), "the file").unwrap();
    let node = Weir::start(&area(root.path()));
    let named = ("".to_owned(), Some("/protected%20files/a%20b.html".to_owned()));
    let sent = ("the file".to_owned(), None);
    let mut proxy = node.client();
    assert_eq!(get(&mut proxy, &[ASKS]), named);
    assert_eq!(get(&mut proxy, &[("x-sendfile-type", "x-accel-redirect")]), named);
    // Without the header, the proxy's machine gets the file, for a health check or a copy to another server.
    assert_eq!(get(&mut proxy, &[]), sent);
    assert_eq!(get(&mut proxy, &[("X-Sendfile-Type", "X-Sendfile")]), sent);
    // An untrusted client gets the file even if it sends the header.
    let mut other = RawClient::connect_from([127, 0, 0, 2].into(), node.addr("web"));
    assert_eq!(get(&mut other, &[ASKS]), sent);
    // The response has the headers that NGINX sends with the file.
    let answer = proxy.exchange(message("GET", "/a%20b.html", &[ASKS], b""));
    assert!(answer.header("etag").is_some() && answer.header("last-modified").is_some());
    assert_eq!(answer.header("content-security-policy"), Some("sandbox"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn a_balancer_between_passes_the_file_on_and_no_answer_without_one() {
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("a b.html"), "the file").unwrap();
    let node = Weir::start(&area(root.path()));
    let balancer = Weir::start(&weir_e2e::web(&[node.addr("web")]));
    for lines in [&[][..], &[ASKS]] {
        assert_eq!(get(&mut balancer.client(), lines), ("the file".to_owned(), None));
    }
}
