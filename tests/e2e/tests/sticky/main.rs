//! Tests of sticky sessions: by cookie, by session, by address.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod age;
mod cookie;
mod gone;
mod learned;
mod table;
mod value;

use weir_e2e::Weir;
use weir_testkit::{RawServer, Response};

/// Starts a server that sends its name as body, and the received Cookie lines in X-Got. Responses to /login
/// also have `lines`.
fn server(name: &'static str, lines: &'static str) -> RawServer {
    RawServer::responding(move |request| {
        let cookies = request.header_values("cookie").join(" | ");
        let path = request.request_line().split(' ').nth(1).unwrap_or_default().to_owned();
        let own = if path.starts_with("/login") { lines } else { "" };
        let length = name.len();
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nX-Got: {cookies}\r\n{own}\r\n{name}")
            .into_bytes()
    })
}

/// Returns a config with a listener and a round-robin pool `web`, with these servers as w0, w1, ... and these
/// further keys. One worker, so that new clients get the servers in turn.
fn config(servers: &[&RawServer], keys: &str) -> String {
    config_of(servers, "", keys)
}

/// Returns the same config with further keys for each server.
fn config_of(servers: &[&RawServer], each: &str, keys: &str) -> String {
    let servers: Vec<String> = servers
        .iter()
        .enumerate()
        .map(|(index, server)| format!("{{ name = \"w{index}\", address = \"{}\"{each} }}", server.addr()))
        .collect();
    format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nbalance = \"round-robin\"\nservers = [{}]\n{keys}\n\n[weir]\nworkers = 1\n",
        servers.join(", ")
    )
}

/// Sends a request with these lines over its own connection.
fn ask(weir: &Weir, target: &str, lines: &str) -> Response {
    weir.client().exchange(format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n{lines}\r\n"))
}

/// Returns the name of the server that responds to these lines.
fn who(weir: &Weir, lines: &str) -> String {
    let response = ask(weir, "/", lines);
    assert_eq!(response.status, 200, "{}", response.text());
    response.text()
}

/// Returns the value of a cookie that a response sets.
fn set(response: &Response, cookie: &str) -> Option<String> {
    let lines = response.header_values("set-cookie");
    let line = lines.iter().find_map(|line| line.strip_prefix(cookie)?.strip_prefix('='))?;
    Some(line.split(';').next().unwrap_or_default().to_owned())
}

/// Returns a new client's cookie and its server.
fn new_client(weir: &Weir, cookie: &str) -> (String, String) {
    let response = ask(weir, "/", "");
    let value = set(&response, cookie).expect("the cookie is set");
    (format!("Cookie: {cookie}={value}\r\n"), response.text())
}
