//! Tests the lines of the access log.

use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_e2e::{Weir, get, web};
use weir_testkit::{FullListener, PATIENCE, RawServer, RefusingPort, Signal, Step, TempDir, wait_until};

/// Weir whose access log is a file.
pub(crate) struct Logged {
    pub(crate) weir: Weir,
    directory: TempDir,
}

impl Logged {
    pub(crate) fn start(config: &str, format: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("access.log");
        let log = format!("\n[access-log]\nformat = \"{format}\"\nto = \"{}\"\n", path.display());
        Self { weir: Weir::start(&format!("{config}{log}")), directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("access.log")
    }

    /// Waits for `count` lines and returns all lines.
    pub(crate) fn lines(&self, count: usize) -> Vec<String> {
        lines_of(&self.path(), count)
    }

    /// Waits for `count` lines of JSON and returns all of them.
    pub(crate) fn json(&self, count: usize) -> Vec<serde_json::Value> {
        self.lines(count).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
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
        // A last request, after which all lines of the first one are written.
        logged.weir.client().exchange(get("/last"));
        let lines = logged.lines(2);
        assert_eq!(lines.len(), 2, "{format}: {lines:?}");
        assert!(!lines[0].contains('\u{1b}'), "{format}: {:?}", lines[0]);
    }
}

/// Returns the termination state of the only request.
fn state(config: &str, run: impl FnOnce(&Weir)) -> String {
    let logged = Logged::start(config, "httplog");
    run(&logged.weir);
    let line = logged.lines(1).remove(0);
    let fields: Vec<&str> = line.split(' ').collect();
    // HAProxy's configuration manual, section 8.2.3: client, date, listener, pool/server, timers, status,
    // bytes, two cookies, state.
    fields[9].to_owned()
}

#[test]
fn a_server_that_trickles_is_not_judged_by_the_minimum_rate_of_clients() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n")?;
        peer.send_slowly([b'x'; 60], Duration::from_millis(20))
    });
    // At most 50 bytes per second arrive, for three times the timeout of an idle body.
    let config = format!(
        "{}[listener.web.timeouts]\nbody = \"400ms\"\nmin-body-rate = \"1KiB/s\"\n",
        web(&[server.addr()])
    );
    let read = |weir: &Weir| assert_eq!(weir.client().exchange(get("/")).body, [b'x'; 60]);
    assert_eq!(state(&config, read), "----");
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
fn a_client_that_leaves_is_told_by_where_it_left() {
    let silent = RawServer::silent();
    let left_waiting = |weir: &Weir| {
        let mut client = weir.client();
        client.send(get("/"));
        silent.wait_for_bytes(0, 4);
        client.reset();
    };
    assert_eq!(state(&web(&[silent.addr()]), left_waiting), "CH--");

    let uploaded = RawServer::silent();
    let left_uploading = |weir: &Weir| {
        let mut client = weir.client();
        client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
        uploaded.wait_for_bytes(0, 4);
        client.reset();
    };
    assert_eq!(state(&web(&[uploaded.addr()]), left_uploading), "CH--");

    let stalled = |weir: &Weir| {
        let late = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf";
        assert_eq!(weir.client().exchange(late).status, 408);
    };
    let patient = RawServer::silent();
    let impatient = web(&[patient.addr()]).replace("pool = ", "timeouts = { body = \"200ms\" }\npool = ");
    assert_eq!(state(&impatient, stalled), "cH--");

    let busy = RawServer::silent();
    let one = format!("{{ address = \"{}\", max-connections = 1 }}", busy.addr());
    let config = web(&[busy.addr()]).replace(&format!("\"{}\"", busy.addr()), &one);
    let logged = Logged::start(&format!("{config}timeouts = {{ queue = \"20s\" }}\n"), "httplog");
    let mut first = logged.weir.client();
    first.send(get("/first"));
    busy.wait_for_bytes(0, 4);
    let mut waiting = logged.weir.client();
    waiting.send(get("/waiting"));
    wait_until("it waits", PATIENCE, || {
        logged.weir.metrics().get("weir_pool_queue_length", &["pool=\"web\""]) == 1.0
    });
    waiting.reset();
    let line = logged.lines(1).remove(0);
    assert!(
        line.contains(" web/<NOSRV> ") && line.contains(" -1 0 - - CQ-- ") && line.contains("/waiting"),
        "{line}"
    );
}

#[test]
fn a_client_that_leaves_while_its_server_is_connected_to_is_noticed_and_logged() {
    let full = FullListener::new();
    let config = format!("{}timeouts = {{ connect = \"1h\" }}\n", web(&[full.addr()]));
    let leave = |weir: &Weir| {
        let mut client = weir.client();
        client.send(get("/"));
        wait_until("it is being connected to", PATIENCE, || {
            weir.metrics().get("weir_pool_active_requests", &["pool=\"web\""]) == 1.0
        });
        client.reset();
    };
    assert_eq!(state(&config, leave), "CC--");
}

#[test]
fn what_a_rule_denies_and_what_overload_turns_away_have_their_letters() {
    let denied = "[listener.web]\nbind = \"127.0.0.1:0\"\n\n[[route]]\nrespond = 403\n";
    let ask = |weir: &Weir| drop(weir.client().send(get("/")).try_response());
    assert_eq!(state(denied, ask), "PR--");

    let server = RawServer::silent();
    let one = format!("{{ address = \"{}\", max-connections = 1 }}", server.addr());
    let config = web(&[server.addr()]).replace(&format!("\"{}\"", server.addr()), &one);
    for (queue, letters) in [("0s", "SQ--"), ("100ms", "sQ--")] {
        let config = format!("{config}timeouts = {{ queue = \"{queue}\" }}\n");
        let mut first = None;
        let run = |weir: &Weir| {
            let mut client = weir.client();
            client.send(get("/first"));
            wait_until("it is in flight", PATIENCE, || {
                weir.metrics().get("weir_pool_active_requests", &["pool=\"web\""]) == 1.0
            });
            assert_eq!(weir.client().exchange(get("/")).status, 503);
            first = Some(client);
        };
        assert_eq!(state(&config, run), letters);
    }
}

#[test]
fn the_bytes_of_weirs_own_answers_are_in_the_log() {
    let respond =
        "[listener.web]\nbind = \"127.0.0.1:0\"\n\n[[route]]\nrespond = { status = 200, body = \"hello\" }\n";
    let logged = Logged::start(respond, "common");
    let whole = logged.weir.client().exchange(get("/"));
    assert_eq!(whole.body, b"hello");
    logged.weir.client().send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").response_to_head();
    let lines = logged.lines(2);
    assert!(lines.iter().any(|line| line.ends_with("\"GET / HTTP/1.1\" 200 5")), "{lines:?}");
    assert!(lines.iter().any(|line| line.ends_with("\"HEAD / HTTP/1.1\" 200 0")), "{lines:?}");

    let refusing = RefusingPort::new();
    let logged = Logged::start(&format!("{}retry = false\n", web(&[refusing.addr()])), "json");
    let answer = logged.weir.client().exchange(get("/"));
    let line: serde_json::Value = serde_json::from_str(&logged.lines(1)[0]).unwrap();
    assert_eq!(
        (line["status"].as_u64(), line["body_bytes_out"].as_u64()),
        (Some(502), Some(answer.body.len() as u64))
    );
    assert!(line["bytes_out"].as_u64() > line["body_bytes_out"].as_u64(), "{line}");
}

#[test]
fn the_status_of_a_configured_answer_without_servers_is_in_the_log() {
    let refusing = RefusingPort::new();
    let config = format!(
        "{}check = \"tcp\"\nwhen-empty = {{ respond = {{ status = 418, body = \"tea\" }} }}\n",
        web(&[refusing.addr()])
    );
    let logged = Logged::start(&config, "json");
    wait_until("the server is down", PATIENCE, || logged.weir.client().exchange(get("/")).status == 418);
    wait_until("its line", PATIENCE, || logged.lines(1).iter().any(|line| line.contains("\"status\":418")));
}

#[test]
fn every_key_of_a_line_is_in_the_reference_in_this_order() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .join("docs/reference/access-log.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.split_once("\n## json\n").unwrap().1.split_once("\n## ").unwrap().0;
    let rows = table.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0));
    let documented: Vec<&str> = rows.collect();
    let server = RawServer::answering("hello");
    let config = format!("{}\n[[route]]\npath = \"/moved\"\nredirect = \"/\"\n", web(&[server.addr()]));
    let logged = Logged::start(&config, "json");
    logged.weir.client().exchange("GET / HTTP/1.1\r\nHost: a\r\nReferer: x\r\nUser-Agent: y\r\n\r\n");
    logged.weir.client().exchange(get("/moved"));
    logged.weir.client().exchange("nonsense\r\n\r\n");
    for line in logged.lines(3) {
        let places: Vec<Option<usize>> = line
            .trim_matches(['{', '}'])
            .split(",\"")
            .map(|member| {
                let key = member.trim_start_matches('"').split_once('"').unwrap().0;
                documented.iter().position(|name| *name == key)
            })
            .collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{line}");
        let code = line.split_once("\"termination\":\"").unwrap().1.get(..4).unwrap();
        assert!(page.contains(&format!("| `{code}` |")), "{code}");
    }
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
    // Lines that waited to be written may go to the new file. Each line is in exactly one file.
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
    let bytes: usize = line.split_once(" 101 ").unwrap().1.split(' ').next().unwrap().parse().unwrap();
    assert!(bytes > "HTTP/1.1 101 Switching Protocols\r\n\r\nabc".len(), "{line}");

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
fn of_a_tcp_connection_the_line_says_how_often_it_was_tried_and_where_last() {
    let gone = [RefusingPort::new(), RefusingPort::new()];
    let config = format!(
        "[listener.db]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\npool = \"db\"\n\n[pool.db]\neject = false\nretry = {{ attempts = 2 }}\n\
         servers = [{{ name = \"a\", address = \"{}\" }}, {{ name = \"b\", address = \"{}\" }}]\n",
        gone[0].addr(),
        gone[1].addr()
    );
    let logged = Logged::start(&config, "json");
    match weir_testkit::RawClient::try_connect(logged.weir.addr("db")) {
        Ok(mut client) => assert_eq!(client.read_to_end().0, b""),
        // The reset arrived before the client saw that the connection was accepted.
        Err(cause) => assert_eq!(cause.kind(), std::io::ErrorKind::ConnectionReset),
    }
    let line: serde_json::Value = serde_json::from_str(&logged.lines(1)[0]).unwrap();
    assert_eq!((&line["retries"], &line["redispatched"]), (&2.into(), &true.into()), "{line}");
    assert!(["a", "b"].contains(&line["server"].as_str().unwrap()), "{line}");
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
