//! Tests of the Close frames that end WebSocket tunnels.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use tokio::runtime::{Builder, LocalOptions};
use weir_http::BodyScanner;
use weir_net::Socket;

use super::*;
use crate::state::Shared;
use crate::testing::shared;
use crate::tunnel::TunnelEnd;
use crate::worker::Drain;

const CONFIG: &str = "[weir]\ncontrol = false\nstate = false\n\n\
                      [listener.web]\nbind = \"127.0.0.1:8080\"\npool = \"web\"\n\n\
                      [pool.web]\nservers = [\"127.0.0.1:8082\"]\n";

/// The other end of one of a tunnel's streams.
struct Other {
    stream: UnixStream,
    got: Vec<u8>,
    has_ended: bool,
}

impl Other {
    fn with_stream() -> (Self, Stream) {
        let (other, stream) = UnixStream::pair().unwrap();
        other.set_nonblocking(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        let other = Self { stream: other, got: Vec::new(), has_ended: false };
        (other, Stream::Plain(Socket::from_unix(OwnedFd::from(stream))))
    }

    /// Reads all bytes that have arrived.
    fn read(&mut self) {
        let mut piece = [0; 64 * 1024];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return self.has_ended = true,
                Ok(read) => self.got.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Returns the bytes that client and server receive after these ones when the process stops.
fn last_words(shared: &Arc<Shared>, protocol: &str, down: &[u8], up: &[u8]) -> [Vec<u8>; 2] {
    let (mut at_client, mut client) = Other::with_stream();
    let (mut at_server, mut server) = Other::with_stream();
    at_server.stream.write_all(down).unwrap();
    at_client.stream.write_all(up).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    let end = runtime.block_on(async {
        let worker = Worker::new(0, Arc::clone(shared), 1);
        let deadline = worker.timers.deadline();
        let pump = || Pump::new(BodyScanner::of_upgrade(protocol.as_bytes()));
        let mut tunnel = Tunnel::new(pump(), pump());
        let hour = Duration::from_secs(3_600);
        let running = async {
            let end = tunnel.run(&mut client, &mut server, &deadline, hour, &worker, None).await;
            // The owner closes both streams when the tunnel is over.
            drop((client, server));
            end
        };
        let stopping = async {
            while at_client.got.len() < down.len() || at_server.got.len() < up.len() {
                tokio::time::sleep(Duration::from_millis(1)).await;
                at_client.read();
                at_server.read();
            }
            worker.drain.set(Drain::Cut);
            worker.timers.expire_all();
            let mut others = [(&mut at_client, down.len()), (&mut at_server, up.len())];
            while !others.iter().all(|(other, _)| other.has_ended) {
                tokio::time::sleep(Duration::from_millis(1)).await;
                for (other, before) in &mut others {
                    other.read();
                    if other.got.len() > *before {
                        // The peer ends its direction too, so that the tunnel does not wait for it.
                        let _ = other.stream.shutdown(Shutdown::Write);
                    }
                }
            }
        };
        tokio::join!(running, stopping).0
    });
    assert!(matches!(end, TunnelEnd::Stopped), "{end:?}");
    assert!(at_client.got.starts_with(down) && at_server.got.starts_with(up));
    [at_client.got.split_off(down.len()), at_server.got.split_off(up.len())]
}

/// Returns a masked Close frame without its mask.
fn unmasked(frame: &[u8]) -> Vec<u8> {
    match frame {
        [0x88, 0x82, a, b, _, _, x, y] => vec![0x88, 2, x ^ a, y ^ b],
        other => other.to_vec(),
    }
}

/// Returns frames with headers of all lengths but the longest, and the positions where they end.
fn frames(mask: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let is_masked = if mask.is_empty() { 0 } else { 0x80 };
    let (mut wire, mut ends) = (Vec::new(), vec![0]);
    for (header, payload_bytes) in [(&[0x81, 5][..], 5), (&[0x89, 0], 0), (&[0x02, 126, 0, 126], 126)] {
        wire.extend_from_slice(header);
        let length_at = wire.len() - header.len() + 1;
        wire[length_at] |= is_masked;
        wire.extend_from_slice(mask);
        wire.extend(std::iter::repeat_n(b'x', payload_bytes));
        ends.push(wire.len());
    }
    (wire, ends)
}

#[test]
fn each_side_is_told_where_its_bytes_end_with_a_frame_and_nowhere_else() {
    let shared = shared(CONFIG);
    let (down, down_ends) = frames(&[]);
    let (up, up_ends) = frames(&[1, 2, 3, 4]);
    for end in 0..=up.len() {
        let down_end = end.min(down.len());
        let [to_client, to_server] = last_words(&shared, "websocket", &down[..down_end], &up[..end]);
        let told = |is_told: bool| if is_told { going_away() } else { Vec::new() };
        assert_eq!(to_client, told(down_ends.contains(&down_end)), "after {down_end} bytes");
        assert_eq!(unmasked(&to_server), told(up_ends.contains(&end)), "after {end} bytes");
    }
}

#[test]
fn large_frames_that_are_spliced_are_counted_as_well() {
    const PAYLOAD: usize = 150_000;
    let shared = shared(CONFIG);
    let mut frame = vec![0x82, 127];
    frame.extend_from_slice(&(PAYLOAD as u64).to_be_bytes());
    frame.extend_from_slice(&[7; PAYLOAD]);
    for (bytes, expected) in [(frame.len(), going_away()), (frame.len() - 1, Vec::new())] {
        let [to_client, to_server] = last_words(&shared, "websocket", &frame[..bytes], &[]);
        assert_eq!((to_client, unmasked(&to_server)), (expected, going_away()));
    }
}

#[test]
fn who_has_been_told_by_the_other_side_is_not_told_again() {
    let close = [0x88, 0x02, 0x03, 0xe8];
    let [to_client, to_server] = last_words(&shared(CONFIG), "websocket", &close, &[]);
    assert_eq!((to_client, unmasked(&to_server)), (Vec::new(), going_away()));
}

#[test]
fn other_protocols_end_without_a_word() {
    let last_words = last_words(&shared(CONFIG), "irc", b"PING", b"PONG");
    assert_eq!(last_words, [b"", b""]);
}
