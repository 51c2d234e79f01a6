//! Tests of offloaded files with the real binary: servers name files in place of a body.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod files;
mod headers;
mod names;
mod seen;
mod uploads;

use std::path::Path;

use weir_e2e::Weir;
use weir_testkit::{Message, RawClient, RawServer, Response, TempDir};

/// A Weir in front of a server that names files. The server responds to each request with the given header
/// lines and with a body that no client may see. `{target}` in the lines stands for the request target.
struct Site {
    weir: Weir,
    server: RawServer,
    root: TempDir,
}

const BODY: &str = "of the server";

impl Site {
    /// Starts a site with one location, `/internal`.
    fn new(lines: &str) -> Self {
        Self::with("", "", lines)
    }

    /// Starts a site with further keys of `[pool.web.offload]` and of its location.
    fn with(offload: &str, location: &str, lines: &str) -> Self {
        let root = TempDir::new().unwrap();
        let server = answering(lines);
        let weir = Weir::start(&config(&server, root.path(), offload, location));
        Self { weir, server, root }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    #[track_caller]
    fn get(&self, path: &str) -> Response {
        self.get_with(path, "")
    }

    #[track_caller]
    fn get_with(&self, path: &str, lines: &str) -> Response {
        self.weir.client().exchange(request("GET", path, lines))
    }

    fn count(&self, metric: &str) -> f64 {
        self.weir.metrics().get(metric, &["pool=\"web\""])
    }
}

fn request(method: &str, path: &str, lines: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: a.example\r\n{lines}\r\n")
}

/// Starts a server that responds to all requests with these header lines.
fn answering(lines: &str) -> RawServer {
    let lines = lines.to_owned();
    RawServer::responding(move |message: &Message| {
        let head = String::from_utf8_lossy(&message.head).into_owned();
        let target = head.split(' ').nth(1).unwrap_or_default();
        let lines = lines.replace("{target}", target);
        let status = if lines.starts_with("HTTP/") { "" } else { "HTTP/1.1 200 OK\r\n" };
        let body = if head.starts_with("HEAD") || lines.contains("304") { "" } else { BODY };
        format!("{status}{lines}Content-Length: {}\r\n\r\n{body}", BODY.len()).into_bytes()
    })
}

fn config(server: &RawServer, root: &Path, offload: &str, location: &str) -> String {
    let root = root.display();
    format!(
        "{}\n[pool.web.offload]\n{offload}\n[[pool.web.offload.location]]\nprefix = \"/internal\"\nroot = \"{root}\"\n{location}\n",
        weir_e2e::web(&[server.addr()])
    )
}

/// Header of a server that sends names without encoding.
const REDIRECT: &str = "X-Accel-Redirect: /internal{target}\r\n";

/// Sends a HEAD request and returns the response.
#[track_caller]
fn head(client: &mut RawClient, path: &str) -> Response {
    client.send(request("HEAD", path, ""));
    client.response_to_head()
}
