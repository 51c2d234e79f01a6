//! Tests the files of `weir demo` in a browser: listing them, and uploading one through the balancer to both
//! storage nodes.

use serde_json::json;
use weir_e2e::{Demo, get};
use weir_origin::Origin;
use weir_testkit::RawClient;

use crate::browser::{DIRECTORY_PAGE, open_with, results};

/// Name of the file that the page uploads.
const NAME: &str = "from the browser.dat";

#[test]
fn what_is_uploaded_with_the_page_of_the_demo_both_storage_nodes_have() {
    let demo = Demo::start();
    let hang = Origin::builder().name("hang").start().unwrap();
    let (driver, hang) = (json!(DIRECTORY_PAGE), hang.addr());
    demo.extend(&format!(
        r#"
[[route]]
path = "=/drive"
respond = {{ content-type = "text/html; charset=utf-8", body = {driver} }}

[[route]]
path = "=/hang"
pool = "hang"

[pool.hang]
servers = ["{hang}"]
"#
    ));
    let url = format!("http://{}/drive#fetched", demo.site());
    let (dom, complaints) = open_with(&["--disable-popup-blocking"], &url);
    let found = results(&dom);
    let expected = json!({
        "before": ["welcome.txt"],
        "after": [NAME, "welcome.txt"],
        "fetched": [true, true, true, true],
    });
    assert_eq!(found, expected, "{complaints:?}");
    let content: Vec<u8> = (0..2_000_003_u32).map(|at| (at * 31 % 251) as u8).collect();
    for node in ["store-1", "store-2"].map(|name| demo.node(name)) {
        let (page, _) = open_with(&[], &format!("http://{node}/data/"));
        assert!(page.contains(&format!(">{NAME}</a>")), "{page}");
        let answer = RawClient::connect(node).exchange(get("/data/from%20the%20browser.dat"));
        assert_eq!(answer.status, 200);
        assert!(answer.body == content, "{} bytes", answer.body.len());
    }
    assert!(demo.end().is_some(), "by itself");
}
