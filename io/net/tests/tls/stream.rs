//! Tests of TLS streams.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::net::{TcpStream, UnixStream};
use weir_net::tls::{ServerTls, TlsFailure, TlsStream};

use super::support::{Await, Files, HTTP, Pair, connected, sockets, within};

/// Random numbers that a seed reproduces; the seed is printed: `TLS_TEST_SEED=... cargo test`.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        let given = std::env::var("TLS_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
            now.as_nanos() as u64 | 1
        });
        println!("TLS_TEST_SEED={seed}");
        Self(seed)
    }

    /// xorshift64*
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `limit`; 0 if there is none.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 16) as usize % limit.max(1)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

async fn pair(files: &Files) -> Pair {
    connected(&files.connector(), &ServerTls::load(&files.tls_in(), HTTP).unwrap()).await
}

/// Sends `bytes` in portions of random size, sometimes flushes, and ends.
async fn send_in_portions(stream: &mut TlsStream<TcpStream>, mut bytes: &[u8], mut random: Random) {
    while !bytes.is_empty() {
        let portion = [1, 100, 5_000, 20_000, 200_000][random.below(5)];
        let portion = &bytes[..bytes.len().min(1 + random.below(portion))];
        let taken = poll_fn(|cx| stream.poll_write(cx, portion)).await.unwrap();
        bytes = &bytes[taken..];
        if random.below(4) == 0 {
            stream.flush().await.unwrap();
        }
    }
    stream.close().await.unwrap();
}

/// Receives to the end, in portions of random size.
async fn receive_in_portions(stream: &mut TlsStream<TcpStream>, mut random: Random) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let mut buffer = vec![0; 1 + random.below([3, 100, 5_000, 70_000][random.0 as usize % 4])];
        match stream.receive(&mut buffer).await.unwrap() {
            0 => return all,
            count => all.extend_from_slice(&buffer[..count]),
        }
    }
}

#[tokio::test]
async fn what_is_sent_arrives_to_the_byte_in_both_directions() {
    let files = Files::new();
    let mut random = Random::new();
    for _ in 0..12 {
        let Pair { mut client, mut server, .. } = pair(&files).await;
        let size = random.below(3_000_000);
        let (up, down) = (random.bytes(size), random.bytes(size / 2));
        let seeds: [u64; 4] = std::array::from_fn(|_| random.next() | 1);
        let ((), ()) = within(async {
            // Each end handles one direction after the other, but both ends run at once: neither may wait for
            // its peer.
            tokio::join!(
                async {
                    send_in_portions(&mut client, &up, Random(seeds[0])).await;
                    assert!(receive_in_portions(&mut client, Random(seeds[1])).await == down, "down");
                },
                async {
                    assert!(receive_in_portions(&mut server, Random(seeds[2])).await == up, "up");
                    send_in_portions(&mut server, &down, Random(seeds[3])).await;
                }
            )
        })
        .await;
    }
}

#[tokio::test]
async fn both_directions_flow_at_once() {
    let files = Files::new();
    let Pair { mut client, mut server, .. } = pair(&files).await;
    let bytes = Random::new().bytes(5_000_000);
    // Each end writes and reads while it can, as a tunnel does.
    async fn pump(stream: &mut TlsStream<TcpStream>, bytes: &[u8]) -> Vec<u8> {
        let (mut sent, mut closed, mut received) = (0, false, Vec::new());
        let mut buffer = vec![0; 50_000];
        poll_fn(|cx| {
            let mut ended = false;
            loop {
                let mut stuck = true;
                if sent < bytes.len() {
                    if let Poll::Ready(taken) = stream.poll_write(cx, &bytes[sent..]) {
                        sent += taken.unwrap();
                        stuck = false;
                    }
                } else if !closed && let Poll::Ready(done) = stream.poll_close(cx) {
                    done.unwrap();
                    closed = true;
                }
                if !ended && let Poll::Ready(count) = stream.poll_read(cx, &mut buffer) {
                    let count = count.unwrap();
                    received.extend_from_slice(&buffer[..count]);
                    ended = count == 0;
                    stuck = false;
                }
                match (closed && ended, stuck) {
                    (true, _) => return Poll::Ready(()),
                    (false, true) => return Poll::Pending,
                    (false, false) => {}
                }
            }
        })
        .await;
        received
    }
    let (at_client, at_server) =
        within(async { tokio::join!(pump(&mut client, &bytes), pump(&mut server, &bytes)) }).await;
    assert!(at_client == bytes && at_server == bytes);
}

#[tokio::test]
async fn a_connection_that_ends_without_close_notify_is_an_error() {
    let files = Files::new();
    let Pair { mut client, mut server, .. } = pair(&files).await;
    within(server.send(b"half of")).await.unwrap();
    drop(server);
    let mut buffer = [0; 16];
    assert_eq!(within(client.receive(&mut buffer)).await.unwrap(), 7);
    for _ in 0..2 {
        let error = within(client.receive(&mut buffer)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(matches!(TlsFailure::of(&error), Some(TlsFailure::Truncated)), "{error}");
    }
}

#[tokio::test]
async fn an_end_in_the_middle_of_a_record_is_an_error() {
    let files = Files::new();
    let Pair { client, mut server, .. } = pair(&files).await;
    // The start of a record that never ends.
    client.socket().try_write(&[23, 3, 3, 1, 0, 9, 9, 9]).unwrap();
    drop(client);
    let error = within(server.receive(&mut [0; 16])).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn a_clean_end_leaves_the_other_direction_open() {
    let files = Files::new();
    let Pair { mut client, mut server, .. } = pair(&files).await;
    within(async {
        client.send(b"request").await.unwrap();
        client.close().await.unwrap();
        assert_eq!(server.receive_all().await.unwrap(), b"request");
        assert!(server.has_buffered_plaintext(), "the end can be read again");
        server.send(b"answer").await.unwrap();
        server.close().await.unwrap();
        assert_eq!(client.receive_all().await.unwrap(), b"answer");
        let error = client.send(b"more").await.unwrap_err();
        assert!(matches!(TlsFailure::of(&error), Some(TlsFailure::Ended)), "{error}");
    })
    .await;
}

#[tokio::test]
async fn what_follows_a_close_notify_does_not_count() {
    let files = Files::new();
    let Pair { mut client, mut server, .. } = pair(&files).await;
    within(client.send(b"all")).await.unwrap();
    within(client.close()).await.unwrap();
    client.socket().try_write(b"surplus").unwrap();
    drop(client);
    assert_eq!(within(server.receive_all()).await.unwrap(), b"all");
    assert!(!server.wants_write());
}

#[tokio::test]
async fn a_slow_reader_holds_the_writer_back() {
    let files = Files::new();
    let Pair { mut client, mut server, .. } = pair(&files).await;
    let bytes = Random::new().bytes(10_000_000);
    let mut sent = 0;
    let filled = |server: &mut TlsStream<TcpStream>, sent: &mut usize| {
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        while let Poll::Ready(taken) = server.poll_write(&mut cx, &bytes[*sent..]) {
            *sent += taken.unwrap();
        }
    };
    filled(&mut server, &mut sent);
    let accepted = sent;
    // Bytes that neither kernel has taken wait in this process: less than a portion and its overhead.
    let waiting = server_backlog(&server);
    assert!(accepted < bytes.len(), "the kernel's buffers do not hold it all");
    assert!(server.wants_write() && waiting <= 70_000, "{waiting} bytes wait");
    for _ in 0..1000 {
        filled(&mut server, &mut sent);
    }
    assert_eq!(sent, accepted, "nothing more is taken while nobody reads");
    let received = within(async {
        let (received, ()) = tokio::join!(
            async {
                let mut received = Vec::new();
                let mut buffer = [0; 9_999];
                while received.len() < bytes.len() {
                    let count = client.receive(&mut buffer).await.unwrap();
                    received.extend_from_slice(&buffer[..count]);
                }
                received
            },
            async { server.send(&bytes[accepted..]).await.unwrap() }
        );
        received
    })
    .await;
    assert!(received == bytes);
    assert_eq!(server_backlog(&server), 0);
}

/// Returns the amount of queued ciphertext from the stream's Debug output.
fn server_backlog(stream: &TlsStream<TcpStream>) -> usize {
    let text = format!("{stream:?}");
    let (_, rest) = text.split_once("outgoing: ").unwrap();
    rest.split(',').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn what_does_not_fit_the_callers_buffer_is_read_next() {
    let files = Files::new();
    let Pair { mut client, mut server, .. } = pair(&files).await;
    let bytes = Random::new().bytes(16_384);
    within(client.send(&bytes)).await.unwrap();
    let mut received = vec![0; bytes.len()];
    for at in (0..bytes.len()).step_by(64) {
        let part = &mut received[at..at + 64];
        assert_eq!(within(server.receive(part)).await.unwrap(), 64);
        assert_eq!(server.has_buffered_plaintext(), at + 64 < bytes.len());
    }
    assert_eq!(received, bytes);
    assert!(!server.has_unread_input());
}

#[tokio::test]
async fn a_part_of_a_record_is_unread_input() {
    let files = Files::new();
    let Pair { client, mut server, .. } = pair(&files).await;
    client.socket().try_write(&[23, 3, 3, 1, 0, 9, 9, 9]).unwrap();
    within(poll_fn(|cx| {
        assert!(server.poll_read(cx, &mut [0; 16]).is_pending());
        if server.has_unread_input() { Poll::Ready(()) } else { Poll::Pending }
    }))
    .await;
    assert!(!server.has_buffered_plaintext());
}

#[tokio::test]
async fn nothing_passes_before_the_handshake() {
    let files = Files::new();
    let (client, _accepted) = sockets().await;
    let mut client = files.connector().connect(client).unwrap();
    let error = within(client.send(b"early")).await.unwrap_err();
    assert!(matches!(TlsFailure::of(&error), Some(TlsFailure::Handshaking)), "{error}");
}

#[tokio::test]
async fn a_kilobyte_is_one_record_and_one_write() {
    let files = Files::new();
    let Pair { client, mut server, .. } = pair(&files).await;
    within(server.send(b"tickets go first")).await.unwrap();
    let mut raw = vec![0; 65_536];
    within(read_raw(&client, &mut raw)).await;
    within(server.send(&[1; 1024])).await.unwrap();
    let count = within(read_raw(&client, &mut raw)).await;
    // Header, data, content type, tag (RFC 8446 section 5.2).
    assert_eq!(count, 5 + 1024 + 1 + 16);
    assert_eq!(raw[..5], [23, 3, 3, 4, 17]);
}

/// Returns the bytes of one read from the socket under `stream`.
async fn read_raw(stream: &TlsStream<TcpStream>, raw: &mut [u8]) -> usize {
    loop {
        stream.socket().readable().await.unwrap();
        match stream.socket().try_read(raw) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => return done.unwrap(),
        }
    }
}

#[tokio::test]
async fn unix_sockets_carry_tls_too() {
    let files = Files::new();
    let server = ServerTls::load(&files.tls_in(), HTTP).unwrap();
    let (near, far) = UnixStream::pair().unwrap();
    let (mut client, mut server) = (files.connector().connect(near).unwrap(), server.accept(far).unwrap());
    within(async {
        let (at_client, at_server) = tokio::join!(
            async {
                client.handshake().await?;
                client.send(b"over a unix socket").await?;
                client.close().await
            },
            async {
                server.handshake().await?;
                server.receive_all().await
            }
        );
        at_client.unwrap();
        assert_eq!(at_server.unwrap(), b"over a unix socket");
    })
    .await;
}

#[tokio::test]
async fn a_server_that_speaks_first_is_heard() {
    let files = Files::new();
    let server = ServerTls::load(&files.tls_in(), HTTP).unwrap();
    let (near, far) = sockets().await;
    let (mut client, mut server) = (files.connector().connect(near).unwrap(), server.accept(far).unwrap());
    within(async {
        let (heard, ()) = tokio::join!(
            async {
                client.handshake().await.unwrap();
                // A read alone must send the client's last message; otherwise the server would wait for it
                // forever.
                let mut buffer = [0; 16];
                let count = client.receive(&mut buffer).await.unwrap();
                buffer[..count].to_vec()
            },
            async {
                server.handshake().await.unwrap();
                server.send(b"220 ready").await.unwrap();
            }
        );
        assert_eq!(heard, b"220 ready");
    })
    .await;
}

#[tokio::test]
async fn a_peer_that_vanishes_is_an_error_when_written_to() {
    let files = Files::new();
    let Pair { client, mut server, .. } = pair(&files).await;
    let mut socket = client;
    // A reset, not an end.
    socket2::SockRef::from(socket.socket()).set_linger(Some(std::time::Duration::ZERO)).unwrap();
    let _ = within(socket.flush()).await;
    drop(socket);
    let error = within(async {
        loop {
            if let Err(error) = server.send(&[0; 50_000]).await {
                return error;
            }
        }
    })
    .await;
    assert!(TlsFailure::of(&error).is_none(), "the socket's error, not TLS's: {error}");
}
