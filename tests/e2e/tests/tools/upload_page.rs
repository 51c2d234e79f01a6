//! Tests the page of a directory in a browser: uploads, new directories and deletions, and the limits of
//! pages from other origins.

use serde_json::{Value, json};
use weir_e2e::Weir;
use weir_origin::Origin;
use weir_testkit::TempDir;

use crate::browser::{DIRECTORY_PAGE, open_with, results};

/// Page that tries to write to another origin, whose password the browser knows.
const FOREIGN: &str = r#"<!doctype html><html lang="en"><meta charset="utf-8"><title>Evil</title>
<pre id="results">the script has not finished</pre><iframe id="hold" src="/hang"></iframe>
<script>
const results = {}, target = location.hash.slice(1);
const soon = (milliseconds) => new Promise((go) => setTimeout(go, milliseconds));
async function attempt(name, options) {
  try {
    const answer = await fetch(target, { credentials: "include", body: "evil", ...options });
    results[name] = answer.type + " " + answer.status;
  } catch (error) { results[name] = "refused"; }
}
async function work() {
  const known = window.open(target.replace("//", "//ada:pw@"));
  await soon(1500);
  await attempt("put", { method: "PUT" });
  await attempt("post", { method: "POST", mode: "no-cors" });
  await attempt("delete", { method: "DELETE", body: undefined });
  known.close();
}
work().finally(() => {
  document.getElementById("results").textContent = JSON.stringify(results);
  document.getElementById("hold").remove();
});
</script>"#;

fn config(root: &std::path::Path, hang: std::net::SocketAddr, access: &str) -> String {
    let (driver, foreign) = (json!(DIRECTORY_PAGE), json!(FOREIGN));
    format!(
        r#"
[listener.web]
bind = "127.0.0.1:0"
pool = "hang"

[[route]]
path = "/data"
storage = "data"

[[route]]
path = "=/drive"
respond = {{ content-type = "text/html; charset=utf-8", body = {driver} }}

[[route]]
path = "=/evil"
respond = {{ content-type = "text/html; charset=utf-8", body = {foreign} }}

[pool.hang]
servers = ["{hang}"]

[storage-area.data]
root = "{}"
access-points = "/data"
listing = true
{access}
"#,
        root.display()
    )
}

#[test]
fn a_directory_can_be_filled_and_emptied_with_its_page() {
    let origin = Origin::builder().name("hang").start().unwrap();
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("old.txt"), "old").unwrap();
    let everything = r#"[[storage-area.data.access.policy]]
description = "everything"
effect = "permit"
actions = "all"
principals = { type = "anyone" }"#;
    let weir = Weir::start(&config(root.path(), origin.addr(), everything));
    let url = format!("http://{}/drive#everything", weir.addr("web"));
    // The console reports the requests that another origin's script may not send.
    let (dom, complaints) = open_with(&["--disable-popup-blocking"], &url);
    let found: Value = results(&dom);
    assert_eq!(found["error"], Value::Null, "{found}\n{complaints:?}");
    assert_eq!(found["before"], json!(["old.txt"]));
    assert_eq!(found["after"], json!(["made here/", "caf\u{e9} <b>&.dat", "first file.txt", "old.txt"]));
    assert_eq!(found["replaced"], "second");
    assert_eq!(found["end"], json!(["caf\u{e9} <b>&.dat", "first file.txt", "old.txt"]));
    assert_eq!(found["foreign"], true);
    assert_eq!(std::fs::read(root.path().join("caf\u{e9} <b>&.dat")).unwrap(), [b'x'; 3_000_000]);
}

#[test]
fn a_page_of_another_origin_cannot_write_although_the_browser_knows_the_password() {
    let origin = Origin::builder().name("hang").start().unwrap();
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("mine"), "mine").unwrap();
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("htpasswd");
    // SHA-crypt of "pw".
    let hash = std::process::Command::new("openssl").args(["passwd", "-6", "-salt", "salt", "pw"]).output();
    let hash = String::from_utf8(hash.expect("openssl is there").stdout).unwrap();
    std::fs::write(&file, format!("ada:{}\n", hash.trim())).unwrap();
    let access = format!(
        "htpasswd = {:?}\n[[storage-area.data.access.policy]]\ndescription = \"ada\"\neffect = \"permit\"\n\
         actions = \"all\"\nprincipals = {{ type = \"user\", name = \"ada\" }}\n",
        file
    );
    let weir = Weir::start(&config(root.path(), origin.addr(), &access));
    let port = weir.addr("web").port();
    let url = format!("http://localhost:{port}/evil#http://127.0.0.1:{port}/data/mine");
    let (dom, _) = open_with(&["--disable-popup-blocking"], &url);
    let found: Value = results(&dom);
    assert_eq!(found, json!({ "put": "refused", "post": "opaque 0", "delete": "refused" }), "{dom}");
    assert_eq!(std::fs::read(root.path().join("mine")).unwrap(), b"mine");
    // An old browser would not refuse the request itself. Then the server refuses it.
    let mut client = weir.client();
    for (more, status) in
        [("", 204), ("Origin: http://evil.example.org\r\n", 403), ("Sec-Fetch-Site: same-site\r\n", 403)]
    {
        client.send(format!(
            "PUT /data/mine HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Basic YWRhOnB3\r\n{more}Content-Length: 1\r\n\r\nx"
        ));
        assert_eq!(client.response().status, status, "{more}");
    }
}
