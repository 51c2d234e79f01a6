//! Tests of third-party copies between storage areas of the real binary and other servers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clients;
mod limits;
mod pull;
mod push;
mod rebinding;
mod refusals;
mod resume;
mod tls;
mod verify;
mod xrootd;

use std::path::Path;

use weir_e2e::Weir;
use weir_testkit::{Message, PATIENCE, RawClient, Response, TempDir, pattern, wait_until};

/// A Weir with an area `data` at `/` that permits everything to every client, including third-party copies.
struct Site {
    weir: Weir,
    root: TempDir,
}

/// Rules that permit everything to every client.
const OPEN: &str = "[storage-area.data.access]\n\
    [[storage-area.data.access.policy]]\n\
    description = \"everything\"\n\
    effect = \"permit\"\n\
    actions = \"all\"\n\
    principals = { type = \"anyone\" }\n";

/// Settings that permit plain HTTP and loopback addresses for the tests.
const HERE: &str = "http = true\nprivate = \"127.0.0.0/8\"\nmarker-interval = \"100ms\"\n";

/// Returns a config with further keys of `[third-party-copy]`.
fn config(root: &Path, copies: &str) -> String {
    format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\nstorage = \"data\"\n\
         [storage-area.data]\nroot = \"{}\"\nthird-party-copy = true\n{OPEN}[third-party-copy]\n{copies}",
        root.display()
    )
}

impl Site {
    fn new() -> Self {
        Self::with("")
    }

    /// Starts a site with further keys of `[third-party-copy]`.
    fn with(copies: &str) -> Self {
        let root = TempDir::new().unwrap();
        let weir = Weir::start(&config(root.path(), &format!("{HERE}{copies}")));
        Self { weir, root }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.weir.addr("web"))
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.root.path().join(name), content).unwrap();
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.root.path().join(name)).ok()
    }

    /// Returns the names in the root, without Weir's own directory.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != ".weir-store");
        names.sort();
        names
    }

    /// Waits until cleanup is done and exactly these names exist.
    #[track_caller]
    fn settles(&self, names: &[&str]) {
        wait_until(&format!("{names:?} and no more"), PATIENCE, || self.names() == names);
    }

    /// Sends a COPY.
    fn begin(&self, path: &str, headers: &[(&str, &str)]) -> RawClient {
        let mut client = self.weir.client();
        client.send(message("COPY", path, headers));
        client
    }

    /// Sends a COPY and returns its complete response.
    #[track_caller]
    fn copy(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        self.begin(path, headers).final_response()
    }

    /// Sends a COPY that must succeed.
    #[track_caller]
    fn copies(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        let done = self.copy(path, headers);
        assert_eq!(last_line(&done), "success: Created", "{}", done.text());
        assert_eq!(done.status, 202);
        done
    }

    /// Sends a COPY that must start and then fail. Returns its last line.
    #[track_caller]
    fn fails(&self, path: &str, headers: &[(&str, &str)]) -> String {
        let done = self.copy(path, headers);
        assert_eq!(done.status, 202, "{}", done.text());
        let line = last_line(&done);
        assert!(line.starts_with("failure: "), "{}", done.text());
        line
    }

    #[track_caller]
    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
        let mut client = self.weir.client();
        client.send(message(method, path, headers));
        if method == "HEAD" { client.response_to_head() } else { client.final_response() }
    }
}

fn last_line(response: &Response) -> String {
    response.text().lines().last().unwrap_or_default().to_owned()
}

/// Serializes a request without a body.
fn message(method: &str, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: storage.example.org\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.into_bytes()
}

fn method(request: &Message) -> String {
    request.request_line().split(' ').next().unwrap_or_default().to_owned()
}

/// Builds a 200 with these header lines, without body for HEAD.
fn ok(request: &Message, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    if method(request) == "HEAD" { head.into_bytes() } else { [head.as_bytes(), body].concat() }
}
