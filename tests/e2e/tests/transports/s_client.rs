//! Runs OpenSSL's client.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Sends a GET request with `openssl s_client` and returns its output. The arguments may name files in
/// `directory`.
pub(crate) fn s_client(directory: &Path, addr: SocketAddr, arguments: &[&str]) -> Output {
    let mut client = Command::new("openssl")
        .args(["s_client", "-connect", &addr.to_string(), "-ign_eof"])
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = client.stdin.take().unwrap();
    // A client that is refused ends before it reads its input.
    let _ = input.write_all(b"GET / HTTP/1.1\r\nHost: s.test\r\nConnection: close\r\n\r\n");
    client.wait_with_output().unwrap()
}
