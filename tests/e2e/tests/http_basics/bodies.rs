//! Tests of bodies: of any size, in both directions, simultaneous, early, and with back pressure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use weir_e2e::{Weir, get, web};
use weir_testkit::{
    BodyFraming, Ending, PATIENCE, RawServer, ResponseError, Step, chunked, rss_bytes, wait_until,
};

/// Sizes around every limit at which bytes are moved in another way.
const SIZES: [usize; 16] = [
    0, 1, 2, 100, 3_900, 4_095, 4_096, 4_097, 8_191, 8_192, 8_193, 65_535, 65_536, 65_537, 300_001, 5_000_000,
];

/// Returns pseudo-random bytes, so that misplaced pieces are detected.
fn noise(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect()
}

#[test]
fn bodies_of_every_size_arrive_whole_in_both_directions() {
    let server = RawServer::start(|peer| {
        while let Ok(request) = peer.request() {
            peer.respond(request.body)?;
        }
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    for size in SIZES {
        let body = noise(size, size as u64);
        client.send(format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n"));
        let back = client.exchange(&body);
        assert_eq!(back.framing, BodyFraming::Length(size as u64));
        assert!(back.body == body, "{size} bytes");
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn chunked_bodies_of_every_size_arrive_whole_in_both_directions() {
    let server = RawServer::start(|peer| {
        while let Ok(request) = peer.request() {
            assert!(request.header("transfer-encoding").is_some());
            let mut response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            let pieces: Vec<&[u8]> = request.body.chunks(50_000).collect();
            response.extend_from_slice(&chunked(&pieces));
            peer.send(response)?;
        }
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    for size in SIZES {
        let body = noise(size, size as u64);
        let pieces: Vec<&[u8]> = body.chunks(7_777).collect();
        client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        let back = client.exchange(chunked(&pieces));
        assert_eq!(back.framing, BodyFraming::Chunked);
        assert!(back.body == body, "{size} bytes");
    }
    assert_eq!(server.connections(), 1);
    assert_eq!(server.failures(), Vec::<String>::new());
}

#[test]
fn trailers_are_passed_on_in_both_directions() {
    let server = RawServer::start(|peer| {
        let request = peer.request()?;
        assert_eq!(request.trailers, [("X-Sum".to_owned(), "7".to_owned())]);
        peer.send(
            "HTTP/1.1 200 OK\r\nTrailer: X-Back\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Back: 8\r\n\r\n",
        )
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    let response = client.exchange(
        "POST / HTTP/1.1\r\nHost: a\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 7\r\n\r\n",
    );
    assert_eq!(response.text(), "hi");
    assert_eq!(response.trailers, [("X-Back".to_owned(), "8".to_owned())]);
    assert_eq!(server.failures(), Vec::<String>::new());
}

#[test]
fn a_request_in_single_bytes_is_the_same_request() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&format!("{}[weir]\nworkers = 1\n", web(&[server.addr()])));
    let requests = [
        "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
    ];
    for request in requests {
        weir.client().exchange(request);
        let whole = server.received_in_all();
        let before = whole.len();
        let mut client = weir.client();
        assert_eq!(client.send_slowly(request, Duration::from_micros(300)), request.len());
        assert_eq!(client.response().status, 200);
        let all = server.received_in_all();
        let last = all.len() - before;
        assert_eq!(
            String::from_utf8_lossy(&all[before..]),
            String::from_utf8_lossy(&whole[before - last.min(before)..before])
        );
    }
}

#[test]
fn a_client_that_does_not_read_slows_the_server_down_and_costs_no_memory() {
    const TOTAL: usize = 128 << 20;
    let sent = Arc::new(AtomicUsize::new(0));
    let progress = Arc::clone(&sent);
    let server = RawServer::start(move |peer| {
        peer.head()?;
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {TOTAL}\r\n\r\n"))?;
        let piece = noise(64 * 1024, 1);
        for _ in 0..TOTAL / piece.len() {
            peer.send(&piece)?;
            progress.fetch_add(piece.len(), Ordering::SeqCst);
        }
        peer.hold();
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let memory = rss_bytes(weir.pid());
    let mut client = weir.client().receive_buffer(64 * 1024);
    client.send(get("/"));
    wait_until("the server is stopped by the client", PATIENCE, || stands_still(&sent));
    let in_flight = sent.load(Ordering::SeqCst);
    // The kernel's buffers are large; Weir's are not.
    assert!(in_flight < TOTAL, "nobody stopped the server");
    let grown = rss_bytes(weir.pid()).saturating_sub(memory);
    assert!(grown < 4 << 20, "{grown} bytes more memory");
    let response = client.response();
    assert_eq!(response.body.len(), TOTAL);
    let piece = noise(64 * 1024, 1);
    assert!(response.body.chunks(piece.len()).all(|part| part == piece));
}

#[test]
fn a_server_that_does_not_read_slows_the_client_down_and_costs_no_memory() {
    const TOTAL: usize = 128 << 20;
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let server = RawServer::start(move |peer| {
        peer.head()?;
        let _ = wait.lock().unwrap().recv();
        let mut left = TOTAL;
        while left > 0 {
            peer.take(64 * 1024)?;
            left -= 64 * 1024;
        }
        peer.respond("all of it")
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let memory = rss_bytes(weir.pid());
    let mut client = weir.client();
    client.send(format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {TOTAL}\r\n\r\n"));
    let sent = AtomicUsize::new(0);
    thread::scope(|scope| {
        let upload = scope.spawn(|| {
            let piece = vec![b'x'; 64 * 1024];
            for _ in 0..TOTAL / piece.len() {
                client.send(&piece);
                sent.fetch_add(piece.len(), Ordering::SeqCst);
            }
            client.response().text()
        });
        wait_until("the client is stopped by the server", PATIENCE, || stands_still(&sent));
        let in_flight = sent.load(Ordering::SeqCst);
        assert!(in_flight < TOTAL, "nobody stopped the client");
        let grown = rss_bytes(weir.pid()).saturating_sub(memory);
        assert!(grown < 4 << 20, "{grown} bytes more memory");
        go.send(()).unwrap();
        assert_eq!(upload.join().unwrap(), "all of it");
    });
}

#[test]
fn a_response_that_begins_before_the_request_has_ended_is_passed_on_at_once() {
    // Each side waits for the other's last byte before it sends its next one.
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")?;
        for _ in 0..10 {
            let byte = peer.take(1)?;
            peer.send(byte)?;
        }
        peer.hold();
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
    assert_eq!(client.response_head().status, 200);
    for byte in b"0123456789" {
        assert_eq!(client.send([*byte]).read_exact(1), [*byte]);
    }
}

#[test]
fn an_echo_server_of_large_bodies_does_not_stall() {
    // The server reads and writes at once, and neither side has room for all of it.
    const TOTAL: usize = 16 << 20;
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {TOTAL}\r\n\r\n"))?;
        for _ in 0..TOTAL / 4096 {
            let piece = peer.take(4096)?;
            peer.send(piece)?;
        }
        peer.hold();
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let addr = weir.addr("web");
    let body = noise(TOTAL, 3);
    let mut stream = std::net::TcpStream::connect(addr).unwrap();
    let mut reader = stream.try_clone().unwrap();
    reader.set_read_timeout(Some(PATIENCE)).unwrap();
    thread::scope(|scope| {
        let expected = &body;
        let read = scope.spawn(move || {
            let mut all = Vec::new();
            let mut piece = vec![0; 64 * 1024];
            while all.len() < TOTAL {
                let count = std::io::Read::read(&mut reader, &mut piece).unwrap();
                assert!(count > 0, "ended after {}", all.len());
                all.extend_from_slice(&piece[..count]);
            }
            let start = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
            assert!(expected.starts_with(&all[start..]));
        });
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {TOTAL}\r\n\r\n");
        std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
        std::io::Write::write_all(&mut stream, &body).unwrap();
        read.join().unwrap();
    });
}

#[test]
fn an_early_refusal_reaches_a_client_that_is_still_sending() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")?;
        // Reads on for a while, as a server does to let its response arrive.
        let _ = peer.take(256 * 1024);
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n");
    client.send(vec![b'x'; 64 * 1024]);
    let response = client.response();
    assert_eq!((response.status, response.text().as_str()), (413, "no"));
    assert!(response.says_close(), "{:?}", response.headers);
}

#[test]
fn an_early_answer_of_a_server_that_closes_at_once_is_not_lost() {
    // The server closes with unread bytes, which causes a reset. The reset must not discard data that it sent
    // before.
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
    });
    let weir = Weir::start(&web(&[server.addr()]));
    for _ in 0..20 {
        let mut client = weir.client();
        client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
        let _ = client.try_send(vec![b'x'; 300_000]);
        assert_eq!(client.response().status, 403);
    }
}

#[test]
fn after_an_early_answer_no_byte_of_the_body_is_taken_for_a_request() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")?;
        peer.hold();
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send(format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", smuggled.len()));
    assert_eq!(client.response().status, 200);
    let _ = client.try_send(smuggled);
    let _ = client.try_send(get("/next"));
    let rest = match client.try_response() {
        Err(ResponseError::Nothing(ending)) => Ok(ending),
        Ok(response) => Err(response),
        Err(other) => panic!("{other}"),
    };
    // Either the connection ends, or the body is read to its end and the next request gets a response. The
    // body is never parsed as a request.
    let requests = String::from_utf8_lossy(&server.received_in_all()).matches(" HTTP/1.1\r\n").count();
    match rest {
        Ok(_) => assert!(requests <= 2, "{requests} requests"),
        Err(response) => assert_eq!(response.status, 200),
    }
    assert_eq!(server.connections(), server.connections().min(2));
    for number in 0..server.connections() {
        assert!(!server.received(number).starts_with(b"GET /smuggled"));
    }
}

#[test]
fn a_body_that_the_client_breaks_off_ends_at_the_server_without_looking_whole() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.take_to_end().map(drop)
    });
    let weir = Weir::start(&web(&[server.addr()]));
    for framing in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let number = server.connections();
        let mut client = weir.client();
        client.send(format!("PUT / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n"));
        client.send(if framing.starts_with('C') { "some" } else { "4\r\nsome\r\n" });
        server.wait_for_bytes(number, 80);
        wait_until("the first piece of the body", PATIENCE, || {
            server.received(number).windows(4).any(|four| four == b"some")
        });
        client.half_close();
        server.wait_for_end(number);
        let received = server.received(number);
        assert!(!received.ends_with(b"0\r\n\r\n"), "{:?}", String::from_utf8_lossy(&received));
    }
}

#[test]
fn bodies_of_many_clients_never_mix_even_when_some_break_off() {
    let server = RawServer::start(|peer| {
        while let Ok(request) = peer.request() {
            let line = request.request_line();
            let number: u64 = line.split(['/', ' ']).nth(2).and_then(|n| n.parse().ok()).unwrap_or(0);
            if peer.respond(noise(200_000, number)).is_err() {
                return Ok(());
            }
        }
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    thread::scope(|scope| {
        for worker in 0..8u64 {
            let weir = &weir;
            scope.spawn(move || {
                for turn in 0..30u64 {
                    let number = worker * 1000 + turn;
                    let mut client = weir.client();
                    client.send(get(&format!("/{number}")));
                    if turn % 3 == 1 {
                        // Disconnect with bytes in every buffer and pipe on the way.
                        let head = client.response_head();
                        assert_eq!(head.status, 200);
                        client.read_exact(10_000);
                        client.reset();
                    } else {
                        let response = client.response();
                        assert!(
                            response.body == noise(200_000, number),
                            "client {number} got another's bytes"
                        );
                    }
                }
            });
        }
    });
}

#[test]
fn a_request_without_a_body_is_not_given_one() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    weir.client().exchange(get("/"));
    weir.client().exchange("POST / HTTP/1.1\r\nHost: a\r\n\r\n");
    let received = String::from_utf8(server.received_in_all()).unwrap().to_lowercase();
    assert!(!received.contains("transfer-encoding"), "{received}");
    assert!(!received.contains("get / http/1.1\r\ncontent-length"), "{received}");
}

#[test]
fn an_empty_chunked_body_stays_one() {
    let server = RawServer::script([
        Step::ReadRequest,
        Step::Send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".into()),
        Step::Hold,
    ]);
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    let response =
        client.exchange("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_eq!((response.framing, response.body.len()), (BodyFraming::Chunked, 0));
    assert!(server.received(0).ends_with(b"\r\n\r\n0\r\n\r\n"));
}

#[test]
fn a_response_cut_by_its_server_is_cut_by_a_reset_for_the_client() {
    let heads = [
        "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ];
    for head in heads {
        for reset in [false, true] {
            let mut steps = vec![Step::ReadHead, Step::Send(head.into())];
            if reset {
                steps.push(Step::Reset);
            }
            let server = RawServer::script(steps);
            let weir = Weir::start(&web(&[server.addr()]));
            match weir.client().send(get("/")).try_response() {
                Err(ResponseError::InBody(Ending::Reset, response)) => assert_eq!(response.text(), "hello"),
                other => panic!("{head:?}, reset {reset}: {other:?}"),
            }
        }
    }
}

/// Returns true if a count above 0 does not change for 300 ms.
fn stands_still(count: &AtomicUsize) -> bool {
    let (start, before) = (Instant::now(), count.load(Ordering::SeqCst));
    while start.elapsed() < Duration::from_millis(300) {
        if before == 0 || count.load(Ordering::SeqCst) != before {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

#[test]
fn what_a_server_has_sent_of_a_large_body_arrives_while_it_pauses() {
    // Piece sizes below, at and above the batch size of large bodies, in the middle and near the end.
    const PIECES: [usize; 8] = [700_000, 1, 100_000, 300_000, 2_000_000, 50_000, 600_000, 3];
    let total: usize = PIECES.iter().sum();
    let (arrived, next) = std::sync::mpsc::channel::<()>();
    let next = std::sync::Mutex::new(next);
    let server = RawServer::start(move |peer| {
        let next = next.lock().unwrap();
        for _ in 0..2 {
            peer.request()?;
            peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {total}\r\n\r\n"))?;
            for piece in PIECES {
                peer.send(vec![b'x'; piece])?;
                // Continue only when the client has received the whole piece.
                let _ = next.recv();
            }
        }
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    // The second response uses a connection that has already carried one.
    for _ in 0..2 {
        client.send(get("/"));
        client.response_head();
        for piece in PIECES {
            assert_eq!(client.read_exact(piece).len(), piece);
            arrived.send(()).unwrap();
        }
    }
    assert_eq!(server.connections(), 1);
}
