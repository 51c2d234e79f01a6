//! The access log, line by line.

use std::path::{Path, PathBuf};

use weir_e2e::{Weir, get, web};
use weir_testkit::{PATIENCE, RawServer, RefusingPort, Signal, Step, TempDir, wait_until};

struct Logged {
    weir: Weir,
    directory: TempDir,
}

impl Logged {
    fn start(config: &str, format: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("access.log");
        let log = format!("\n[access-log]\nformat = \"{format}\"\nto = \"{}\"\n", path.display());
        Self { weir: Weir::start(&format!("{config}{log}")), directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("access.log")
    }

    /// The lines, once there are so many.
    fn lines(&self, count: usize) -> Vec<String> {
        lines_of(&self.path(), count)
    }
}

fn lines_of(path: &Path, count: usize) -> Vec<String> {
    let read = || std::fs::read_to_string(path).unwrap_or_default();
    wait_until(&format!("{count} lines in the log"), PATIENCE, || read().lines().count() >= count);
    read().lines().map(str::to_owned).collect()
}

#[test]
fn every_request_has_its_line_in_each_format() {
    let server = RawServer::answering("hello");
    let formats = [
        ("common", r#" - - ["#, r#"] "GET /x?y HTTP/1.1" 200 5"#),
        (
            "combined",
            r#" - - ["#,
            r#"] "GET /x?y HTTP/1.1" 200 5 "http://from.example/" "agent/1 \x22x\x22""#,
        ),
        ("httplog", " [", r#" 200 "#),
    ];
    for (format, start, end) in formats {
        let logged = Logged::start(&web(&[server.addr()]), format);
        let mut client = logged.weir.client();
        let request = "GET /x?y HTTP/1.1\r\nHost: a\r\nReferer: http://from.example/\r\nUser-Agent: agent/1 \"x\"\r\n\r\n";
        for _ in 0..3 {
            assert_eq!(client.exchange(request).status, 200);
        }
        for line in logged.lines(3) {
            assert!(line.starts_with("127.0.0.1"), "{line}");
            assert!(line.contains(start) && line.contains(end), "{format}: {line}");
        }
    }
}

#[test]
fn a_line_of_json_has_everything_by_name() {
    let server = RawServer::answering("hello");
    let logged = Logged::start(&web(&[server.addr()]), "json");
    logged.weir.client().exchange("GET /x?y HTTP/1.1\r\nHost: a.example\r\nUser-Agent: \"\\\u{e9}\r\n\r\n");
    let line: serde_json::Value = serde_json::from_str(&logged.lines(1)[0]).unwrap();
    let text = line.to_string();
    for part in ["\"GET\"", "a.example", "127.0.0.1", "\"web\"", &server.addr().to_string()] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(text.contains("200"), "{text}");
}

#[test]
fn a_client_cannot_forge_a_line() {
    let server = RawServer::answering("hello");
    for format in ["common", "combined", "json", "httplog"] {
        let logged = Logged::start(&web(&[server.addr()]), format);
        let request = "GET /a%0d%0ab HTTP/1.1\r\nHost: a\r\nUser-Agent: x\" 200 \u{1b}[31m\u{85}\t\r\n\r\n";
        logged.weir.client().exchange(request);
        // A last request, so that all of the first one's lines are there.
        logged.weir.client().exchange(get("/last"));
        let lines = logged.lines(2);
        assert_eq!(lines.len(), 2, "{format}: {lines:?}");
        assert!(!lines[0].contains('\u{1b}'), "{format}: {:?}", lines[0]);
    }
}

/// The termination state of the one request that was made.
fn state(config: &str, run: impl FnOnce(&Weir)) -> String {
    let logged = Logged::start(config, "httplog");
    run(&logged.weir);
    let line = logged.lines(1).remove(0);
    let fields: Vec<&str> = line.split(' ').collect();
    // HAProxy's configuration manual, section 8.2.3: client, date, listener, pool/server, timers, status, bytes, two
    // cookies, state.
    fields[9].to_owned()
}

#[test]
fn the_end_of_a_request_is_told_by_haproxys_letters() {
    let ok = RawServer::answering("hello");
    let ask = |weir: &Weir| drop(weir.client().send(get("/")).try_response());
    assert_eq!(state(&web(&[ok.addr()]), ask), "----");

    let cut = RawServer::script([
        Step::ReadHead,
        Step::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".into()),
    ]);
    assert_eq!(state(&web(&[cut.addr()]), ask), "SD--");

    let closing = RawServer::script([Step::ReadHead]);
    assert_eq!(state(&format!("{}retry = false\n", web(&[closing.addr()])), ask), "SH--");

    let silent = RawServer::silent();
    let impatient = format!("{}timeouts = {{ response = \"100ms\" }}\n", web(&[silent.addr()]));
    assert_eq!(state(&impatient, ask), "sH--");

    let garbage = RawServer::script([Step::ReadHead, Step::Send(b"220 hi\r\n\r\n".into())]);
    assert_eq!(state(&web(&[garbage.addr()]), ask), "PH--");

    let refusing = RefusingPort::new();
    assert_eq!(state(&format!("{}retry = false\n", web(&[refusing.addr()])), ask), "SC--");

    let too_large = |weir: &Weir| {
        let bad = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
        assert_eq!(weir.client().exchange(bad).status, 400);
    };
    assert_eq!(state(&web(&[ok.addr()]), too_large), "PR--");

    let respond = "[listener.web]\nbind = \"127.0.0.1:0\"\n\n[[route]]\nrespond = 204\n";
    assert_eq!(state(respond, ask), "LR--");

    let endless = RawServer::start(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")?;
        while peer.send(vec![0; 100_000]).is_ok() {}
        Ok(())
    });
    let leave = |weir: &Weir| {
        let mut client = weir.client();
        client.send(get("/")).response_head();
        client.reset();
    };
    assert_eq!(state(&web(&[endless.addr()]), leave), "CD--");
}

#[test]
fn a_refused_head_has_a_line_too() {
    let server = RawServer::answering("hello");
    let logged = Logged::start(&web(&[server.addr()]), "httplog");
    assert_eq!(
        logged.weir.client().exchange("GET / HTTP/1.1\r\nHost: a\r\nBad Header: x\r\n\r\n").status,
        400
    );
    let line = logged.lines(1).remove(0);
    assert!(line.contains(" 400 ") && line.contains("PR--"), "{line}");
}

#[test]
fn a_file_that_was_moved_is_opened_anew_on_sigusr1_and_no_line_is_lost() {
    let server = RawServer::answering("hello");
    let logged = Logged::start(&web(&[server.addr()]), "common");
    let mut client = logged.weir.client();
    for number in 0..5 {
        client.exchange(get(&format!("/before/{number}")));
    }
    let moved = logged.directory.path().join("access.log.1");
    std::fs::rename(logged.path(), &moved).unwrap();
    logged.weir.signal(Signal::USR1);
    wait_until("the new file", PATIENCE, || logged.path().exists());
    for number in 0..5 {
        client.exchange(get(&format!("/after/{number}")));
    }
    // Lines that waited to be written may go to the new file; each goes to one.
    let mut all = Vec::new();
    wait_until("all lines", PATIENCE, || {
        all = [lines_of(&moved, 0), lines_of(&logged.path(), 5)].concat();
        all.len() >= 10
    });
    for number in 0..5 {
        for when in ["before", "after"] {
            let wanted = format!("/{when}/{number} ");
            assert_eq!(all.iter().filter(|line| line.contains(&wanted)).count(), 1, "{wanted}");
        }
    }
    assert!(!lines_of(&moved, 0).iter().any(|line| line.contains("/after/")));
}

#[test]
fn what_was_logged_before_a_stop_is_in_the_file() {
    let server = RawServer::answering("hello");
    let mut logged = Logged::start(&web(&[server.addr()]), "common");
    let mut client = logged.weir.client();
    for _ in 0..200 {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    assert_eq!(logged.weir.stop().code(), Some(0));
    assert_eq!(std::fs::read_to_string(logged.path()).unwrap().lines().count(), 200);
}

#[test]
fn a_tunnel_and_a_tcp_connection_have_a_line_when_they_end() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")?;
        let bytes = peer.take(3)?;
        peer.send(bytes)
    });
    let logged = Logged::start(&web(&[server.addr()]), "httplog");
    let mut client = logged.weir.client();
    client.exchange("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    client.send("abc");
    client.half_close();
    assert_eq!(client.read_to_end().0, b"abc");
    let line = logged.lines(1).remove(0);
    assert!(line.contains(" 101 ") && line.contains("/ws"), "{line}");

    let echo = RawServer::start(|peer| {
        let bytes = peer.take(3)?;
        peer.send(bytes)
    });
    let config = format!(
        "[listener.db]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\npool = \"db\"\n\n[pool.db]\nservers = \"{}\"\n",
        echo.addr()
    );
    let logged = Logged::start(&config, "httplog");
    let mut client = weir_testkit::RawClient::connect(logged.weir.addr("db"));
    client.send("abc").half_close();
    assert_eq!(client.read_to_end().0, b"abc");
    let line = logged.lines(1).remove(0);
    assert!(line.contains(" db db/") && line.contains(" -- "), "{line}");
}

#[test]
fn a_syslog_daemon_gets_the_lines() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("log.sock");
    let daemon = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    daemon.set_read_timeout(Some(PATIENCE)).unwrap();
    let server = RawServer::answering("hello");
    let config = format!(
        "{}\n[access-log]\nformat = \"common\"\nto = \"syslog:{}\"\nfacility = \"local3\"\n",
        web(&[server.addr()]),
        path.display()
    );
    let weir = Weir::start(&config);
    weir.client().exchange(get("/to/syslog"));
    let mut line = [0; 4096];
    let count = daemon.recv(&mut line).unwrap();
    let line = String::from_utf8_lossy(&line[..count]);
    // local3 (19) * 8 + informational (6).
    assert!(line.starts_with("<158>1 ") && line.contains("/to/syslog"), "{line}");
}
