//! Tests of storage areas with the real binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accel;
mod access;
mod acting;
mod bounds;
mod caching;
mod cedar;
mod clients;
mod conditions;
mod directories;
mod explain;
mod get;
mod hang;
mod holders;
mod large;
mod life;
mod litmus;
mod locks;
mod meanwhile;
mod missing;
mod mounts;
mod namespace;
mod parts;
mod passwords;
mod paths;
mod put;
mod racing;
mod ranges;
mod redirect;
mod resumable;
mod sending;
mod times;
mod tls;
mod tokens;
mod traced;
mod trouble;
mod usage;
mod verified_uploads;
mod webdav;

use std::path::Path;

use weir_e2e::Weir;
use weir_testkit::{Response, TempDir, pattern};

/// A Weir that serves one area, `data`, at `/`.
struct Site {
    weir: Weir,
    root: TempDir,
}

impl Site {
    /// Starts a site that every client may read; `more` has further keys and tables of the area.
    fn readable(more: &str) -> Self {
        Self::new(&format!("{more}\n[storage-area.data.access]\nanonymous-read = true\n"))
    }

    /// Starts a site in which every client may do everything.
    fn open(more: &str) -> Self {
        Self::new(&format!("{more}\n{OPEN}"))
    }

    /// Starts a site whose area has these keys and tables.
    fn new(area: &str) -> Self {
        let root = TempDir::new().unwrap();
        let weir = Weir::start(&config(root.path(), "", area));
        Self { weir, root }
    }

    /// Writes a file to the area.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.root.path().join(name)).ok()
    }

    /// Sends one request on its own connection and returns the response.
    #[track_caller]
    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let mut client = self.weir.client();
        client.send(message(method, path, headers, body));
        if method == "HEAD" { client.response_to_head() } else { client.final_response() }
    }

    #[track_caller]
    fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[], b"")
    }

    #[track_caller]
    fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        self.request("GET", path, headers, b"")
    }

    #[track_caller]
    fn put(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.request("PUT", path, headers, body)
    }
}

/// Rules that permit everything to every client.
const OPEN: &str = "[storage-area.data.access]\n\
    [[storage-area.data.access.policy]]\n\
    description = \"everything\"\n\
    effect = \"permit\"\n\
    actions = \"all\"\n\
    principals = { type = \"anyone\" }\n";

/// Returns a config with a listener `web` and the area `data`, with these further keys and tables.
fn config(root: &Path, listener: &str, area: &str) -> String {
    format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\nstorage = \"data\"\n{listener}\n\
         [storage-area.data]\nroot = \"{}\"\n{area}\n",
        root.display()
    )
}

/// Serializes a request.
fn message(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: storage.example.org\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() || method == "PUT" {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    [text.as_bytes(), body].concat()
}
