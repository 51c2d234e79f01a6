//! Third-party copies between storage areas of the real binary and other servers.

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

/// A Weir with an area `data` at `/` in which everybody may do everything, copies included.
struct Site {
    weir: Weir,
    root: TempDir,
}

/// Rules that let everybody do everything.
const OPEN: &str = "[storage-area.data.access]\n\
    [[storage-area.data.access.policy]]\n\
    description = \"everything\"\n\
    effect = \"permit\"\n\
    actions = \"all\"\n\
    principals = { type = \"anyone\" }\n";

/// Tests are on this machine.
const HERE: &str = "http = true\nprivate = \"127.0.0.0/8\"\nmarker-interval = \"100ms\"\n";

/// A config with further keys of `[third-party-copy]`.
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

    /// With further keys of `[third-party-copy]`.
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

    /// The names in the root, but for Weir's own directory.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != ".weir-store");
        names.sort();
        names
    }

    /// These names are there, and no others once threads have cleaned up.
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

    /// A COPY to its end.
    #[track_caller]
    fn copy(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        self.begin(path, headers).final_response()
    }

    /// One that works.
    #[track_caller]
    fn copies(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        let done = self.copy(path, headers);
        assert_eq!(last_line(&done), "success: Created", "{}", done.text());
        assert_eq!(done.status, 202);
        done
    }

    /// One that begins and does not work; its last line.
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

/// A request without a body, as bytes.
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

/// A 200 with these header lines; without its body if it answers HEAD.
fn ok(request: &Message, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    if method(request) == "HEAD" { head.into_bytes() } else { [head.as_bytes(), body].concat() }
}
