//! Tests of one worker with a peer that would keep it busy forever: other clients must still be served.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use std::io::{Read, Write};

use weir_e2e::{Weir, get, web};
use weir_testkit::{PATIENCE, RawServer, TempDir, rss_bytes, wait_until};

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

/// Starts a server that responds to `/small`. It sends endlessly on `/endless`, reads endlessly on `/sink`,
/// and does both on `/tunnel`.
fn server() -> RawServer {
    RawServer::start(|peer| {
        loop {
            let Ok(head) = peer.head() else { return Ok(()) };
            let head = String::from_utf8_lossy(&head).into_owned();
            let piece = vec![b'x'; 256 * 1024];
            if head.contains("/endless-chunked") {
                peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
                let chunks = "8\r\n12345678\r\n".repeat(20_000);
                while peer.send(&chunks).is_ok() {}
                return Ok(());
            }
            if head.contains("/endless") {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n")?;
                while peer.send(&piece).is_ok() {}
                return Ok(());
            }
            if head.contains("/tunnel") {
                peer.send(SWITCH)?;
                while peer.send(&piece).is_ok() {}
                return Ok(());
            }
            if head.contains("/sink") {
                while peer.take(256 * 1024).is_ok() {}
                return Ok(());
            }
            peer.respond("small")?;
        }
    })
}

/// Rules that let every client write to the storage area.
const EVERYTHING: &str = "[[storage-area.files.access.policy]]\ndescription = \"everything\"\neffect = \"permit\"\n\
                          actions = \"all\"\nprincipals = { type = \"anyone\" }\n";

/// Checks that small requests are served while `hog` runs on the same worker. `hog` gets a connection and a
/// flag that ends it.
fn served_beside(hog: impl Fn(TcpStream, &AtomicBool) + Sync) {
    let grown = memory_beside(hog);
    assert!(grown < 16 << 20, "{grown} bytes more memory");
}

/// Does the same, and returns Weir's memory growth in bytes.
fn memory_beside(hog: impl Fn(TcpStream, &AtomicBool) + Sync) -> u64 {
    let server = server();
    let files = TempDir::new().unwrap();
    std::fs::create_dir(files.path().join("files")).unwrap();
    let weir = Weir::start(&format!(
        "{}[weir]\nworkers = 1\n\n[[route]]\npath = \"/files\"\nstorage = \"files\"\n\n\
         [storage-area.files]\nroot = \"{}\"\n\n{EVERYTHING}",
        web(&[server.addr()]),
        files.path().display()
    ));
    let (over, begun) = (AtomicBool::new(false), AtomicUsize::new(0));
    let before = rss_bytes(weir.pid());
    thread::scope(|scope| {
        for _ in 0..3 {
            let stream = TcpStream::connect(weir.addr("web")).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.set_write_timeout(Some(PATIENCE)).unwrap();
            let (hog, over, begun) = (&hog, &over, &begun);
            scope.spawn(move || {
                begun.fetch_add(1, Ordering::SeqCst);
                hog(stream, over);
            });
        }
        let served = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until("the hogs are at it", PATIENCE, || begun.load(Ordering::SeqCst) == 3);
            for _ in 0..50 {
                assert_eq!(weir.client().exchange(get("/small")).text(), "small");
            }
        }));
        over.store(true, Ordering::SeqCst);
        served.unwrap();
    });
    rss_bytes(weir.pid()).saturating_sub(before)
}

fn ask(mut stream: TcpStream, request: &str) -> TcpStream {
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn drain(mut stream: TcpStream, over: &AtomicBool) {
    let mut piece = vec![0; 1 << 20];
    while !over.load(Ordering::SeqCst) {
        assert!(stream.read(&mut piece).unwrap() > 0, "the hog was cut off");
    }
}

#[test]
fn an_endless_download_starves_nobody() {
    served_beside(|stream, over| drain(ask(stream, &get("/endless")), over));
}

#[test]
fn an_endless_chunked_download_in_tiny_chunks_starves_nobody() {
    served_beside(|stream, over| drain(ask(stream, &get("/endless-chunked")), over));
}

#[test]
fn an_endless_upload_starves_nobody() {
    served_beside(|stream, over| {
        let mut stream =
            ask(stream, "PUT /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\n");
        let piece = vec![b'x'; 1 << 20];
        while !over.load(Ordering::SeqCst) {
            stream.write_all(&piece).unwrap();
        }
    });
}

#[test]
fn an_endless_upload_in_chunks_of_one_byte_into_a_storage_area_starves_nobody() {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    // The first use of storage areas loads code, which must not count as memory growth.
    let _ = memory_beside(|stream, over| {
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let head = format!("PUT /files/{number} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        let mut stream = ask(stream, &head);
        let pieces = "1\r\nx\r\n".repeat(100_000);
        while !over.load(Ordering::SeqCst) {
            stream.write_all(pieces.as_bytes()).unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 201");
    });
}

#[test]
fn an_endless_tunnel_starves_nobody() {
    served_beside(|stream, over| {
        let upgrade = "GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        drain(ask(stream, upgrade), over);
    });
}

#[test]
fn endless_pipelined_requests_starve_nobody() {
    served_beside(|stream, over| {
        let mut reader = stream.try_clone().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut piece = vec![0; 1 << 20];
                while reader.read(&mut piece).is_ok_and(|count| count > 0) {}
            });
            let mut stream = stream;
            let requests = get("/small").repeat(1000);
            while !over.load(Ordering::SeqCst) {
                stream.write_all(requests.as_bytes()).unwrap();
            }
            stream.shutdown(Shutdown::Both).unwrap();
        });
    });
}

#[test]
fn requests_answered_by_weir_itself_without_an_end_starve_nobody() {
    served_beside(|stream, over| {
        let mut reader = stream.try_clone().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut piece = vec![0; 1 << 20];
                while reader.read(&mut piece).is_ok_and(|count| count > 0) {}
            });
            let mut stream = stream;
            let requests = "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n".repeat(1000);
            while !over.load(Ordering::SeqCst) {
                stream.write_all(requests.as_bytes()).unwrap();
            }
            stream.shutdown(Shutdown::Both).unwrap();
        });
    });
}

#[test]
fn a_client_that_pipelines_without_an_end_and_never_reads_costs_no_memory() {
    let server = RawServer::answering(vec![b'x'; 1000]);
    let weir = Weir::start(&web(&[server.addr()]));
    let before = rss_bytes(weir.pid());
    let mut stream = TcpStream::connect(weir.addr("web")).unwrap();
    stream.set_write_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
    let requests = get("/").repeat(1000);
    // Write until no more is accepted; 100 MB exceed all kernel buffers.
    let mut taken = 0;
    while taken < 100 << 20 {
        match stream.write(requests.as_bytes()) {
            Ok(count) => taken += count,
            Err(_) => break,
        }
    }
    assert!(taken < 100 << 20, "all of it was taken");
    let grown = rss_bytes(weir.pid()).saturating_sub(before);
    assert!(grown < 4 << 20, "{grown} bytes more memory");
}
