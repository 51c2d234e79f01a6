//! Tests of the access log with files and syslog daemons.

use std::fs;
use std::io::Read;
use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weir_config::plan::SyslogFacility;
use weir_http::access_log::{
    AccessRecord, ActiveCounts, Client, RequestFields, Subject, Termination, Timings,
};
use weir_model::BindAddress;

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);

fn record(target: &[u8]) -> AccessRecord<'_> {
    AccessRecord {
        start_unix_us: 1_795_250_901_838_042,
        client: Client::Unix,
        peer: None,
        subject: Subject::Request(RequestFields {
            method: b"GET",
            target,
            version: b"HTTP/1.1",
            ..RequestFields::default()
        }),
        status: Some(200),
        bytes_in: 1,
        bytes_out: 2,
        body_bytes_out: 0,
        listener: "in",
        route: None,
        pool: None,
        server: None,
        server_address: None,
        tls: None,
        timings: Timings::default(),
        retries: 0,
        redispatched: false,
        hedge_won: None,
        offloaded: false,
        termination: Termination::NORMAL,
        refused_by: None,
        active: ActiveCounts::default(),
    }
}

fn start(target: LogTarget) -> AccessLog {
    AccessLog::start(&AccessLogPlan { format: AccessLogFormat::Common, target }).unwrap()
}

fn log_file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("access.log");
    (directory, path)
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        thread::yield_now();
    }
}

const LINE: &str = "unix: - - [21/Nov/2026:08:48:21 +0000] \"GET /a HTTP/1.1\" 200 0\n";

#[test]
fn what_several_workers_log_is_in_the_file_when_the_log_has_finished() {
    let (_directory, path) = log_file();
    let log = start(LogTarget::File(path.clone()));
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let mut batch = log.port().batch();
            thread::spawn(move || (0..2_000).for_each(|_| batch.append(&record(b"/a"))))
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    assert_eq!(log.lines_dropped(), 0);
    assert!(log.finish(PATIENCE));
    assert_eq!(fs::read_to_string(&path).unwrap(), LINE.repeat(8_000));
}

#[test]
fn lines_are_handed_over_by_the_batch_and_not_before() {
    let (_directory, path) = log_file();
    let log = start(LogTarget::File(path.clone()));
    let mut batch = log.port().batch();
    let long = vec![b'x'; 1_000];
    for _ in 0..20 {
        batch.append(&record(&long));
    }
    assert!(!batch.is_empty());
    for _ in 0..20 {
        batch.append(&record(&long));
    }
    until("the full batch is written", || fs::metadata(&path).unwrap().len() > 32 * 1024);
    batch.flush();
    assert!(batch.is_empty());
    assert!(log.finish(PATIENCE));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 40);
}

#[test]
fn a_rotated_file_is_left_alone_after_reopening() {
    let (directory, path) = log_file();
    let old = directory.path().join("access.log.1");
    let log = start(LogTarget::File(path.clone()));
    let mut batch = log.port().batch();
    batch.append(&record(b"/a"));
    batch.flush();
    until("the first line is written", || fs::read_to_string(&path).unwrap() == LINE);
    fs::rename(&path, &old).unwrap();
    log.reopen();
    until("the new file is there", || path.exists());
    batch.append(&record(b"/a"));
    drop(batch);
    assert!(log.finish(PATIENCE));
    assert_eq!(
        (fs::read_to_string(&old).unwrap().as_str(), fs::read_to_string(&path).unwrap().as_str()),
        (LINE, LINE)
    );
}

#[test]
fn a_full_disk_loses_lines_and_counts_them() {
    let log = start(LogTarget::File("/dev/full".into()));
    let mut batch = log.port().batch();
    (0..5).for_each(|_| batch.append(&record(b"/a")));
    batch.flush();
    until("the losses are counted", || log.lines_dropped() == 5);
    assert!(log.finish(PATIENCE));
}

#[test]
fn a_target_that_reads_nothing_never_holds_a_worker_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("syslog");
    // The socket is bound but never read, so its queue is full after a few datagrams.
    let daemon = UnixDatagram::bind(&path).unwrap();
    let address = BindAddress::Unix(path);
    let log = start(LogTarget::Syslog { address, facility: SyslogFacility(16) });
    let mut batch = log.port().batch();
    let mut lines = 0;
    while log.lines_dropped() == 0 {
        batch.append(&record(b"/a"));
        lines += 1;
        assert!(lines < 50_000_000, "nothing was lost, nothing was held up");
    }
    // The writer's time is bounded too: it gives up the present batch and then receives the stop message.
    drop(daemon);
    drop(batch);
    assert!(log.finish(PATIENCE));
}

#[test]
fn syslog_gets_a_datagram_for_each_line() {
    let daemon = UdpSocket::bind("127.0.0.1:0").unwrap();
    daemon.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = BindAddress::Inet(daemon.local_addr().unwrap());
    let log = start(LogTarget::Syslog { address, facility: SyslogFacility(16) });
    let mut batch = log.port().batch();
    batch.append(&record(b"/a"));
    batch.append(&record(b"/b"));
    batch.flush();
    for path in ["/a", "/b"] {
        let mut datagram = [0; 2_048];
        let length = daemon.recv(&mut datagram).unwrap();
        let text = std::str::from_utf8(&datagram[..length]).unwrap();
        let fields: Vec<&str> = text.splitn(8, ' ').collect();
        // PRI: facility 16 (local0) * 8 + severity 6.
        assert_eq!(fields[0], "<134>1", "{text}");
        assert!(fields[1].len() == 27 && fields[1].ends_with('Z'), "{text}");
        assert_eq!(&fields[3..7], ["weir", &std::process::id().to_string(), "access", "-"]);
        assert_eq!(fields[7], LINE.trim_end().replace("/a ", &format!("{path} ")));
    }
    assert!(log.finish(PATIENCE));
}

#[test]
fn a_syslog_daemon_that_was_restarted_is_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("syslog");
    let daemon = UnixDatagram::bind(&path).unwrap();
    let log =
        start(LogTarget::Syslog { address: BindAddress::Unix(path.clone()), facility: SyslogFacility(1) });
    drop(daemon);
    let mut batch = log.port().batch();
    batch.append(&record(b"/lost"));
    batch.flush();
    until("the line is lost", || log.lines_dropped() == 1);
    fs::remove_file(&path).unwrap();
    let daemon = UnixDatagram::bind(&path).unwrap();
    daemon.set_read_timeout(Some(PATIENCE)).unwrap();
    batch.append(&record(b"/found"));
    batch.flush();
    let mut datagram = [0; 2_048];
    let length = daemon.recv(&mut datagram).unwrap();
    assert!(String::from_utf8_lossy(&datagram[..length]).contains("GET /found HTTP/1.1"));
    assert!(log.finish(PATIENCE));
}

#[test]
fn a_target_that_cannot_be_opened_is_named() {
    let target = LogTarget::File("/nonexistent/access.log".into());
    let plan = AccessLogPlan { format: AccessLogFormat::Json, target };
    let error = AccessLog::start(&plan).unwrap_err().to_string();
    assert_eq!(error, "access log, /nonexistent/access.log: No such file or directory (os error 2)");
}

#[test]
fn a_log_that_is_dropped_still_writes_what_it_was_given() {
    let (_directory, path) = log_file();
    let log = start(LogTarget::File(path.clone()));
    let mut batch = log.port().batch();
    batch.append(&record(b"/a"));
    batch.flush();
    drop(log);
    until("the line is written", || fs::read_to_string(&path).unwrap() == LINE);
    let mut file = fs::File::open(&path).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, LINE);
}

#[test]
fn the_reference_page_of_the_access_log_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/access-log.md");
    let page = weir_http::access_log::reference();
    if std::env::var_os("WEIR_UPDATE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "stale: WEIR_UPDATE_DOCS=1 cargo test -p weir-proxy access_log");
}
