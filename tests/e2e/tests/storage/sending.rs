//! Tests of long downloads: to slow clients, to clients that close their sending side, and of files that are
//! truncated meanwhile.

use std::fs::File;
use std::net::SocketAddr;
use std::time::Duration;

use weir_e2e::Weir;
use weir_testkit::{Ending, PATIENCE, RawClient, TempDir, wait_until};

use crate::{OPEN, Site, config, message, pattern};

#[test]
fn who_has_said_all_and_reads_slowly_gets_a_long_file_to_its_end() {
    let site = Site::readable("");
    let large = pattern(20_000_000);
    site.write("large", &large);
    let mut client = RawClient::connect(site.weir.addr("web")).receive_buffer(256 * 1024);
    // The event for writable space comes together with the end of the client's data.
    client.send(message("GET", "/large", &[], b"")).half_close();
    assert_eq!(client.response_head().status, 200);
    assert!(client.read_slowly(large.len(), 256 * 1024, Duration::from_millis(2)) == large);
    assert_eq!(client.ending(), Ending::Fin);
}

#[test]
fn who_has_sent_further_requests_gets_long_files_one_after_the_other() {
    let site = Site::readable("");
    let large = pattern(5_000_000);
    site.write("large", &large);
    let mut client = RawClient::connect(site.weir.addr("web")).receive_buffer(256 * 1024);
    // More than one read takes: some requests stay in the socket while the first files are sent.
    let padding = "x".repeat(3000);
    let request = message("GET", "/large", &[("X-Padding", &padding)], b"");
    client.send(request.repeat(6));
    for number in 0..6 {
        assert_eq!(client.response_head().status, 200, "{number}");
        assert!(client.read_exact(large.len()) == large, "{number}");
    }
}

#[test]
fn a_file_that_is_cut_ahead_of_what_is_being_sent_is_noticed_though_no_event_tells_of_it() {
    let root = TempDir::new().unwrap();
    let (path, large) = (root.path().join("f"), pattern(32 << 20));
    std::fs::write(&path, &large).unwrap();
    // If Weir only waited for the client, the timeout would be longer than this test.
    let weir = Weir::start(&config(root.path(), "timeouts = { body = \"10m\" }", OPEN));
    let mut client = RawClient::connect(weir.addr("web")).receive_buffer(256 * 1024);
    client.send(message("GET", "/f", &[], b""));
    assert_eq!(client.response_head().status, 200);
    // From now on, Weir knows that the whole file is in memory.
    assert!(client.read_exact(large.len()) == large);
    client.send(message("GET", "/f", &[], b""));
    assert_eq!(client.response_head().status, 200);
    let mut before = 0;
    wait_until("the client's socket is full", PATIENCE, || {
        let now = on_the_way(weir.addr("web"), client.local_addr());
        now > 0 && std::mem::replace(&mut before, now) == now
    });
    // The remaining bytes do not fill the socket.
    File::options().write(true).open(&path).unwrap().set_len(before + (1 << 20)).unwrap();
    let (bytes, ending) = client.read_to_end();
    assert!(bytes.len() < large.len(), "{}", bytes.len());
    assert_eq!(ending, Ending::Reset);
}

/// Returns the bytes that were sent and not read yet, from the queues of both ends in proc_net_tcp(5).
fn on_the_way(server: SocketAddr, client: SocketAddr) -> u64 {
    let name = |at: SocketAddr| format!("0100007F:{:04X}", at.port());
    let (server, client) = (name(server), name(client));
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let queued = sockets.lines().map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, local, remote, _, queues, ..] = fields[..] else { return 0 };
        let Some((unsent, unread)) = queues.split_once(':') else { return 0 };
        let bytes = if local == server && remote == client {
            unsent
        } else if local == client && remote == server {
            unread
        } else {
            return 0;
        };
        u64::from_str_radix(bytes, 16).unwrap()
    });
    queued.sum()
}
