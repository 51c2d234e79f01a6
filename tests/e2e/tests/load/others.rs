//! Tests of the command lines and report formats of other generators: a program that reads theirs must be
//! able to read Weir's.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use weir_testkit::{RawServer, untested};

use crate::{text, weir};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: tested/1.0\r\nContent-Length: 5\r\n\r\nhello";

/// Runs the real generator; `None` = it is not installed.
fn real(program: &str, arguments: &[&str]) -> Option<Output> {
    let output = Command::new(program).args(arguments).output();
    output.map_err(|_| untested(format!("{program} is not installed"))).ok()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the lines from the one that begins with `first` on, with single blanks and with N for every
/// number.
fn shape(report: &str, first: &str) -> Vec<String> {
    let lines = report.lines().skip_while(|line| !line.starts_with(first));
    // Comments of ab on times whose mean is far from their median.
    let is_opinion = |line: &str| line.starts_with("WARNING: ") || line.contains("These results are ");
    let lines = lines.filter(|line| !is_opinion(line));
    lines.map(|line| numbers_as_n(line).split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn numbers_as_n(line: &str) -> String {
    let mut out = String::new();
    let mut is_in_number = false;
    let characters: Vec<char> = line.chars().collect();
    for (at, character) in characters.iter().enumerate() {
        let is_point = *character == '.' && characters.get(at + 1).is_some_and(char::is_ascii_digit);
        let is_digit = character.is_ascii_digit() || is_in_number && is_point;
        if is_digit && !is_in_number {
            out.push('N');
        } else if !is_digit {
            out.push(*character);
        }
        is_in_number = is_digit;
    }
    out
}

/// An ab report, as scripts parse it.
#[derive(Debug)]
struct Ab {
    lines: BTreeMap<String, String>,
    /// Minimum, mean, standard deviation, median, maximum.
    times: BTreeMap<String, (u64, u64, f64, u64, u64)>,
    percentiles: BTreeMap<u64, u64>,
}

impl Ab {
    fn read(report: &str) -> Self {
        let (mut lines, mut times, mut percentiles) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for line in report.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let Some((percent, ms)) = line.trim().split_once("%  ") {
                let ms = ms.split_whitespace().next().unwrap();
                percentiles.insert(percent.parse().unwrap(), ms.parse().unwrap());
            } else if let [
                "Connect:" | "Processing:" | "Waiting:" | "Total:",
                least,
                mean,
                deviation,
                median,
                most,
            ] = words[..]
            {
                let whole = |text: &str| text.parse().unwrap_or_else(|_| panic!("{line}"));
                let row = (whole(least), whole(mean), deviation.parse().unwrap(), whole(median), whole(most));
                times.insert(words[0].to_owned(), row);
            } else if let Some((name, value)) = line.split_once(':') {
                lines.entry(name.to_owned()).or_insert_with(|| value.trim().to_owned());
            }
        }
        Self { lines, times, percentiles }
    }
}

#[test]
fn a_report_as_abs_is_read_by_what_reads_abs() {
    let server = RawServer::start(|peer| {
        peer.request()?;
        peer.send(ANSWER)
    });
    let url = format!("http://{}/some/file?x=1", server.addr());
    let arguments = ["-n", "20", "-c", "2", &url];
    let Some(theirs) = real("ab", &arguments) else { return };
    let ours = weir(&[&["ab"][..], &arguments].concat());
    let (theirs, ours) = (stdout(&theirs), stdout(&ours));
    let first = "Server Software:";
    assert_eq!(shape(&ours, first), shape(&theirs, first), "{theirs}\n{ours}");
    let (theirs, ours) = (Ab::read(&theirs), Ab::read(&ours));
    for name in [
        "Server Software",
        "Server Hostname",
        "Server Port",
        "Document Path",
        "Document Length",
        "Concurrency Level",
        "Complete requests",
        "Failed requests",
        "Total transferred",
        "HTML transferred",
    ] {
        assert!(theirs.lines.contains_key(name), "{theirs:?}");
        assert_eq!(ours.lines.get(name), theirs.lines.get(name), "{name}");
    }
    assert_eq!(ours.times.len(), 4, "{ours:?}");
    assert!(
        ours.times.keys().eq(theirs.times.keys()) && ours.percentiles.keys().eq(theirs.percentiles.keys())
    );
}

#[test]
fn a_report_as_httperfs_is_read_by_what_reads_httperfs() {
    let server = RawServer::responding(|_| ANSWER.to_vec());
    let (host, port) = (server.addr().ip().to_string(), server.addr().port().to_string());
    let arguments = [
        "--hog",
        "--server",
        &host,
        "--port",
        &port,
        "--uri=/x",
        "--rate",
        "50",
        "--num-conn",
        "10",
        "--num-call",
        "2",
    ];
    let Some(theirs) = real("httperf", &arguments) else { return };
    let ours = weir(&[&["httperf"][..], &arguments].concat());
    let (theirs, ours) = (stdout(&theirs), stdout(&ours));
    let first = "Maximum connect burst length:";
    assert_eq!(shape(&ours, first), shape(&theirs, first), "{theirs}\n{ours}");
    let line = |report: &str, start: &str| {
        report
            .lines()
            .find(|line| line.starts_with(start))
            .unwrap_or_else(|| panic!("{start}: {report}"))
            .to_owned()
    };
    for start in
        ["Connection length", "Reply size [B]:", "Reply status:", "Errors: total", "Errors: fd-unavail"]
    {
        assert_eq!(line(&ours, start), line(&theirs, start));
    }
    let total = |report: &str| line(report, "Total:").split(" test-duration").next().unwrap().to_owned();
    assert_eq!(total(&ours), total(&theirs));
    assert_eq!(total(&ours), "Total: connections 10 requests 20 replies 20");
}

#[test]
fn options_of_others_that_cannot_be_played_are_refused() {
    for (arguments, part) in [
        (&["ab", "-X", "proxy:80", "http://127.0.0.1:1/"][..], "-X"),
        (&["httperf", "--wlog", "y,file"], "--wlog"),
        (&["httperf", "--num-calls", "5"], "say with --rate"),
    ] {
        let output = weir(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output));
        assert!(text(&output).contains(part), "{arguments:?}: {}", text(&output));
    }
}
