//! Tests of reading a request body for a service.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::Instant;

use tokio::runtime::{Builder, LocalOptions};
use weir_model::ListenerName;
use weir_net::{Socket, Stream};

use super::*;
use crate::session::Arrival;
use crate::testing::shared;
use crate::worker::{LocalListener, Source, Worker};

fn chunked() -> Incoming {
    Incoming::new(Framing::Chunked, false, None)
}

#[test]
fn nobody_waits_for_the_socket_while_the_end_of_the_body_is_here() {
    let mut incoming = chunked();
    assert_eq!(incoming.decode(b"0\r\n\r\nGET / HTTP/1.1", &mut [0]), Ok((5, 0)));
    assert!(incoming.is_done());
}

#[test]
fn a_buffer_smaller_than_the_framing_is_filled_at_once() {
    let (mut incoming, mut buffer) = (chunked(), [0; 2]);
    let text = b"000005\r\nhello\r\n0\r\n\r\n";
    assert_eq!(incoming.decode(text, &mut buffer), Ok((10, 2)));
    assert_eq!(&buffer, b"he");
    assert_eq!(incoming.decode(&text[10..], &mut buffer), Ok((2, 2)));
    assert_eq!(incoming.decode(&text[12..], &mut buffer), Ok((text.len() - 12, 1)));
    assert!(incoming.is_done());
}

/// Creates a connection that has these bytes to read.
fn connection(bytes: &[u8]) -> (Connection, UnixStream) {
    let config = "[weir]\ncontrol = false\nstate = false\n\n\
                  [listener.web]\nbind = \"127.0.0.1:8080\"\n\n[[route]]\nrespond = 204\n";
    let worker = Worker::new(0, shared(config), 1);
    let live = worker.live();
    let Some(LocalListener::Http(listener)) = live.listener(&ListenerName::new("web").unwrap()).cloned()
    else {
        unreachable!("it speaks HTTP");
    };
    let (own, mut peer) = UnixStream::pair().unwrap();
    own.set_nonblocking(true).unwrap();
    peer.write_all(bytes).unwrap();
    let arrival = Arrival {
        stream: Stream::Plain(Socket::from_unix(OwnedFd::from(own))),
        deadline: worker.timers.deadline(),
        client: None,
        destination: None,
        tls: None,
        started: Instant::now(),
        number: worker.table.enter(Source::ALONE, 0, 0),
    };
    (Connection::new(Rc::clone(&worker), live, listener, arrival), peer)
}

/// Reads until nothing is available. Returns the number of data bytes.
fn read_on(incoming: &mut Incoming, connection: &mut Connection) -> usize {
    let (mut cx, mut buffer) = (Context::from_waker(Waker::noop()), vec![0; 1 << 20]);
    let mut data = 0;
    while let Poll::Ready(read) = incoming.poll_read(&mut cx, connection, &mut buffer) {
        match read.unwrap() {
            0 => break,
            read => data += read,
        }
    }
    data
}

#[test]
fn a_turn_ends_by_the_bytes_that_came_however_few_of_them_are_data() {
    let piece = b"1\r\nx\r\n";
    let pieces = (3 * CHUNKED_TURN_BYTES as usize).div_ceil(piece.len());
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    runtime.block_on(async {
        let (mut connection, mut peer) = connection(&piece.repeat(pieces / 2));
        peer.set_nonblocking(true).unwrap();
        let mut unsent = [piece.repeat(pieces - pieces / 2), b"0\r\n\r\n".to_vec()].concat();
        let mut incoming = chunked();
        let (mut turns, mut data) = (0, 0);
        while !incoming.is_done() {
            if let Ok(sent) = peer.write(&unsent) {
                unsent.drain(..sent);
            }
            incoming.begin_turn();
            let before = incoming.bytes_read;
            data += read_on(&mut incoming, &mut connection);
            let came = incoming.bytes_read - before;
            // A turn can exceed its limit by one read.
            assert!(came < CHUNKED_TURN_BYTES + READ_BYTES as u64, "{came} bytes in a turn");
            turns += 1;
            tokio::task::yield_now().await;
        }
        assert_eq!(data, pieces);
        assert!(turns >= 3, "{turns} turns");
    });
}

#[test]
fn a_turn_ends_by_its_reads_however_little_they_bring() {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    runtime.block_on(async {
        let (mut connection, _peer) = connection(&[b'x'; 100]);
        let mut incoming = Incoming::new(Framing::Length(100), false, None);
        let mut cx = Context::from_waker(Waker::noop());
        while !incoming.is_done() {
            incoming.begin_turn();
            let before = incoming.bytes_read;
            while let Poll::Ready(Ok(1)) = incoming.poll_read(&mut cx, &mut connection, &mut [0]) {}
            let came = incoming.bytes_read - before;
            assert!((1..=u64::from(TURN_READS)).contains(&came), "{came} reads in a turn");
            tokio::task::yield_now().await;
        }
    });
}

/// Counts how often its task is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_task_that_waits_for_the_client_does_not_wake_itself() {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    runtime.block_on(async {
        let (mut connection, _peer) = connection(b"");
        let mut incoming = Incoming::new(Framing::Length(100), false, None);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        for _ in 0..2 * TURN_READS {
            let read = incoming.poll_read(&mut Context::from_waker(&waker), &mut connection, &mut [0]);
            assert!(read.is_pending());
        }
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
    });
}
