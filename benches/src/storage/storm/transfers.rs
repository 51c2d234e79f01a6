//! Concurrent downloads by curl, one file each.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use crate::error::{Context, Error, Result};
use crate::workshop::HOST;

/// One kind of download.
#[derive(Debug, Clone, Copy)]
pub(super) struct Download<'a> {
    pub(super) address: SocketAddr,
    pub(super) path: &'a str,
    pub(super) tls: bool,
    /// Expected size.
    pub(super) bytes: u64,
    /// Number of concurrent processes.
    pub(super) clients: usize,
}

impl Download<'_> {
    /// Runs the downloads. Returns their durations in seconds, ascending.
    ///
    /// # Errors
    /// If a download is incomplete, because the measurement would be meaningless.
    pub(super) fn run(&self) -> Result<Vec<f64>> {
        let scheme = if self.tls { "https" } else { "http" };
        // Uses the host name, because a TLS server refuses names that are not in its certificate.
        let port = self.address.port();
        let url = format!("{scheme}://{HOST}:{port}{}", self.path);
        let resolve = format!("{HOST}:{port}:{}", self.address.ip());
        let mut running = Vec::new();
        for _ in 0..self.clients {
            let mut curl = Command::new("curl");
            curl.args(["--silent", "--show-error", "--fail", "--insecure", "--output", "/dev/null"])
                .args(["--write-out", "%{size_download} %{time_total}\n", "--resolve", &resolve])
                .arg(&url)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            running.push(curl.spawn().context("curl")?);
        }
        let mut seconds = Vec::new();
        // Waits for all processes even after a failure, so that none of them loads the next measurement.
        let outputs: Vec<_> = running.into_iter().map(std::process::Child::wait_with_output).collect();
        for output in outputs {
            let output = output.context("curl")?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(Error::new(format!("curl {url}: {}", said.trim())));
            }
            let said = String::from_utf8_lossy(&output.stdout);
            let (bytes, took_s) =
                parse(&said).ok_or_else(|| Error::new(format!("curl {url} said: {}", said.trim())))?;
            if bytes != self.bytes {
                return Err(Error::new(format!("curl {url}: {bytes} of {} bytes came", self.bytes)));
            }
            seconds.push(took_s);
        }
        seconds.sort_by(f64::total_cmp);
        Ok(seconds)
    }
}

/// Parses bytes and seconds, in the format that curl was given.
fn parse(line: &str) -> Option<(u64, f64)> {
    let (bytes, seconds) = line.trim().split_once(' ')?;
    Some((bytes.parse().ok()?, seconds.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    /// Answers every request with this response, and closes.
    fn serve(answer: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = BufReader::new(stream.try_clone().unwrap());
                for line in request.lines() {
                    if line.unwrap().is_empty() {
                        break;
                    }
                }
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        address
    }

    fn download(answer: &'static str, bytes: u64) -> Result<Vec<f64>> {
        Download { address: serve(answer), path: "/data/1m", tls: false, bytes, clients: 3 }.run()
    }

    #[test]
    fn every_client_reports_how_long_its_download_took() {
        let took = download("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", 2).unwrap();
        assert_eq!(took.len(), 3);
        assert!(took.is_sorted() && took[0] > 0.0, "{took:?}");
    }

    #[test]
    fn a_download_that_fails_or_is_of_another_size_is_no_result() {
        // The response is that of a proxy that passes on the file's name instead of its content.
        let empty = download("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 2).unwrap_err();
        assert!(empty.to_string().contains("0 of 2 bytes"), "{empty}");
        assert!(download("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", 9).is_err());
        assert!(download("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 0).is_err());
    }

    #[test]
    fn what_curl_writes_is_read() {
        assert_eq!(parse("1048576 0.012345\n"), Some((1_048_576, 0.012_345)));
        assert_eq!(parse(""), None);
        assert_eq!(parse("curl: no such option"), None);
    }
}
