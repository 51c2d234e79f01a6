//! Connections that have received a response and are then idle. Their presence at the end is checked, because
//! a rival that closes them has less work.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use weir_config::lab::Case;

use super::flaw::RunFlaw;
use super::rivals::HOST;
use super::stage::{Network, Place};

/// Opens the number of idle connections that a case requires, or fewer if the user stops the lab. They close
/// when the result is dropped.
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

/// Opens one connection. The response to HEAD has no body and ends with its head.
fn one(path: &str, address: SocketAddr) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    // In one write, because a second one would wait for the acknowledgement of the first.
    stream.write_all(format!("HEAD {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n").as_bytes())?;
    let mut reader = BufReader::with_capacity(2_048, &stream);
    let (mut line, mut head) = (String::new(), String::new());
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::Error::other("closed before its answer"));
        }
        head.push_str(&line);
    }
    let (status, rest) = head.split_once("\r\n").unwrap_or_default();
    let is_good = status.starts_with("HTTP/1.1 2") || status.starts_with("HTTP/1.1 3");
    let is_last = rest.to_ascii_lowercase().contains("connection: close");
    match (is_good, is_last) {
        (true, false) => Ok(stream),
        (false, _) => Err(std::io::Error::other(format!("answered {status:?}"))),
        (true, true) => Err(std::io::Error::other("the answer says that it is the last of its connection")),
    }
}

/// Returns a flaw if some of the connections were not idle all the time.
pub(crate) fn flaw(held: &[TcpStream]) -> Option<RunFlaw> {
    let is_gone = |stream: &&TcpStream| {
        let seen = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
        // No data to read: the connection is still open and idle.
        !seen.is_err_and(|cause| cause.kind() == ErrorKind::WouldBlock)
    };
    let gone = held.iter().filter(is_gone).count();
    let said = || format!("{gone} of {} idle connections were closed, or were sent something", held.len());
    (gone > 0).then(|| RunFlaw::of_measured(said()))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Starts a server that sends this response, and returns both ends of the connection.
    fn answered(answer: &'static str) -> (std::io::Result<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1_024]).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            stream
        });
        (one("/", address), server.join().unwrap())
    }

    #[test]
    fn idle_connections_that_are_closed_meanwhile_are_a_flaw() {
        let (first, kept) = answered("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
        let (second, other) = answered("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
        let held = [first.unwrap(), second.unwrap()];
        assert_eq!(flaw(&held), None);
        drop(other);
        weir_testkit::wait_until("the end to arrive", weir_testkit::PATIENCE, || flaw(&held).is_some());
        assert_eq!(flaw(&held).unwrap().text, "1 of 2 idle connections were closed, or were sent something");
        drop(kept);
    }

    #[test]
    fn who_is_refused_or_sent_away_is_not_idle() {
        for (answer, said) in [
            ("HTTP/1.1 503 Busy\r\n\r\n", "503 Busy"),
            ("HTTP/1.1 200 OK\r\nConnection: Close\r\n\r\n", "the last of its connection"),
        ] {
            let cause = answered(answer).0.unwrap_err().to_string();
            assert!(cause.contains(said), "{cause}");
        }
    }
}
