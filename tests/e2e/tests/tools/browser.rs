//! Tests Weir with a browser, Debian's headless Chromium: pages whose scripts use HTTP and WebSockets, and
//! the status page.

use serde_json::{Value, json};
use weir_e2e::Weir;
use weir_origin::{Origin, OriginHandle};
use weir_testkit::TempDir;
use weir_testkit::certificates::{Authority, Request};

use crate::tool::{self, text};

/// Page that writes the results of its script into itself.
const PAGE: &str = include_str!("browser.html");

/// Page that uses the page of the directory `/data/` of its own site and writes the results into itself. It
/// needs `/hang`, which is never answered.
pub(crate) const DIRECTORY_PAGE: &str = include_str!("directory_page.html");

/// Opens a page and returns its DOM once everything in it has been loaded.
fn open(url: &str) -> String {
    let (dom, complaints) = open_with(&[], url);
    assert_eq!(complaints, Vec::<String>::new());
    dom
}

/// Opens a page with further arguments for the browser. Returns the DOM and the messages of the console.
pub(crate) fn open_with(more: &[&str], url: &str) -> (String, Vec<String>) {
    let profile = TempDir::new().unwrap();
    let mut chromium = tool::command("chromium");
    chromium.arg(format!("--user-data-dir={}", profile.path().display()));
    // The sandbox does not work for root. /dev/shm is small in containers.
    chromium.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    chromium.args(["--no-first-run", "--disable-background-networking", "--disable-component-update"]);
    // A proxy from the environment would intercept the requests. The CA of the test's certificate is unknown
    // to the browser.
    chromium.args(["--no-proxy-server", "--ignore-certificate-errors"]);
    // Messages of the console go to standard error.
    chromium.args(more);
    chromium.args(["--enable-logging=stderr", "--dump-dom", url]);
    let output = tool::finish(chromium);
    assert!(output.status.success(), "{}", text(&output));
    let messages = String::from_utf8_lossy(&output.stderr);
    let complaints = messages.lines().filter(|line| line.contains(":CONSOLE:")).map(str::to_owned);
    (String::from_utf8_lossy(&output.stdout).into_owned(), complaints.collect())
}

/// Returns the results that the script of [`PAGE`] wrote into the page.
pub(crate) fn results(dom: &str) -> Value {
    let behind = dom.split_once("<pre id=\"results\">").unwrap_or_else(|| panic!("no results: {dom}")).1;
    let text = behind.split_once("</pre>").unwrap_or_else(|| panic!("no end: {dom}")).0;
    serde_json::from_str(text).unwrap_or_else(|cause| panic!("{cause}: {text}"))
}

/// Starts a Weir with [`PAGE`] at `/page`, and two servers.
fn site(more: &str) -> (Weir, [OriginHandle; 2]) {
    let origins = ["a", "b"].map(|name| Origin::builder().name(name).start().unwrap());
    let [a, b] = [origins[0].addr(), origins[1].addr()];
    let page = json!(PAGE);
    let config = format!(
        r#"
[listener.web]
bind = "127.0.0.1:0"
pool = "web"

[[route]]
path = "=/page"
respond = {{ content-type = "text/html; charset=utf-8", body = {page} }}

[[route]]
path = "=/moved"
redirect = {{ to = "/bytes/77", status = 302 }}

[pool.web]
balance = "round-robin"
servers = ["{a}", "{b}"]
{more}"#
    );
    (Weir::start(&config), origins)
}

fn assert_all_well(results: &Value) {
    let expected = json!({
        "small": [200, 1000],
        "large": [200, 20_000_000],
        "chunked": [200, 3_000_000],
        "none": [204, 0],
        "missing": 404,
        "head": [200, "123456", 0],
        "moved": [200, true, "/bytes/77", 77],
        "post": [200, true],
        "large post": [200, true],
        "given up": "AbortError",
        "servers": ["a", "b"],
        "events": ["0", "1", "2", "3", "4"],
        "web socket": [[true, true, true, true], 1000, true],
    });
    assert_eq!(results, &expected);
}

#[test]
fn a_page_gets_posts_and_talks_through_a_web_socket_all_at_once() {
    let (weir, _origins) = site("");
    assert_all_well(&results(&open(&format!("http://{}/page", weir.addr("web")))));
}

#[test]
fn a_page_does_the_same_over_tls() {
    let directory = TempDir::new().unwrap();
    let issued = Authority::new("test authority").issue(&Request::names(&["127.0.0.1"]));
    let files = issued.write_to(directory.path(), "site");
    let tls = format!(
        "\n[listener.web.tls]\ncertificates = [{{ certificate = \"{}\", key = \"{}\" }}]\n",
        files.certificate.display(),
        files.key.display()
    );
    let (weir, _origins) = site(&tls);
    assert_all_well(&results(&open(&format!("https://{}/page", weir.addr("web")))));
}

#[test]
fn the_status_page_shows_the_pools_and_servers_of_the_config() {
    let origin = Origin::builder().name("a").start().unwrap();
    let address = origin.addr();
    let mut weir = Weir::start(&format!(
        r#"
[listener.web]
bind = "127.0.0.1:0"
pool = "shop"

[pool.shop]
servers = [{{ name = "till", address = "{address}" }}, {{ name = "spare", address = "{address}", backup = true }}]

[pool.mail]
servers = [{{ name = "postbox", address = "{address}", weight = 7 }}]
"#
    ));
    let line = weir.wait_for_log("admin: http://");
    let (_, address) = line.split_once("admin: ").unwrap();
    let dom = open(address.trim());
    let cells = |part: &str| -> Vec<String> {
        dom.split(part).skip(1).map(|rest| rest.split(['<', ' ']).next().unwrap().to_owned()).collect()
    };
    assert_eq!(cells("<h2>Pool "), ["shop", "mail"], "{dom}");
    // The listener comes first. Each pool ends with a row for all of its servers.
    assert_eq!(cells("<th scope=\"row\">"), ["web", "till", "spare", "all", "postbox", "all"], "{dom}");
    assert!(dom.contains("</footer>"), "{dom}");
}
