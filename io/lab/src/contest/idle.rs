//! Connections that have had an answer, and say nothing more.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use weir_config::lab::Case;

use super::rivals::HOST;
use super::stage::{Network, Place};

/// As many as a case asks for, or fewer if the user wants an end; they are closed when this is dropped.
pub(crate) fn hold(
    network: &Network,
    case: &Case,
    address: SocketAddr,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<TcpStream>, String> {
    if case.idle == 0 {
        return Ok(Vec::new());
    }
    crate::engine::raise_descriptor_limit();
    let failed = |count: usize, cause: &std::io::Error| {
        format!("idle connection {} of {}: {cause}", count + 1, case.idle)
    };
    let open = || -> Result<Vec<TcpStream>, String> {
        let mut held = Vec::new();
        while held.len() < case.idle as usize && !stop() {
            held.push(one(&case.path, address).map_err(|cause| failed(held.len(), &cause))?);
        }
        Ok(held)
    };
    network.within(Place::Client, open).map_err(|cause| failed(0, &cause))?
}

/// The answer to a HEAD has no body: its end is that of its head.
fn one(path: &str, address: SocketAddr) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    // In one piece: a second would wait for the acknowledgement of the first.
    stream.write_all(format!("HEAD {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n").as_bytes())?;
    let mut reader = BufReader::with_capacity(2_048, &stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::Error::other("closed before its answer"));
        }
    }
    Ok(stream)
}
