//! Tests of the options of `weir load`, and of its progress display.

use std::path::Path;

use clap::Parser;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use weir_lab::{Load, Mode, Progress, Verify};
use weir_stats::{Histogram, Resolution};

use super::arguments::{Form, LoadArgs};
use super::live::Screen;
use super::plan;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: LoadArgs,
}

fn parse(arguments: &[&str]) -> Result<LoadArgs, String> {
    let all = ["load"].iter().chain(arguments);
    Cli::try_parse_from(all).map(|cli| cli.args).map_err(|cause| cause.to_string())
}

fn load(arguments: &[&str]) -> Result<Load, String> {
    plan::load(&parse(arguments)?.load, &mut Vec::new())
}

#[test]
fn a_rate_is_an_open_loop_connections_are_a_closed_one_and_calls_make_sessions() {
    let open = load(&["--rate", "50", "http://a/"]).unwrap();
    assert!(matches!(&open.mode, Mode::Open { phases, .. } if phases.duration_s() == 10.0));
    assert_eq!(open.duration, None);
    let closed = load(&["-c", "5", "-n", "100", "http://a/"]).unwrap();
    assert!(matches!(closed.mode, Mode::Closed { connections: 5, .. }));
    assert_eq!((closed.duration, closed.requests_max), (None, Some(100)));
    let sessions = load(&["--rate", "5", "--calls", "10", "http://a/"]).unwrap();
    assert!(matches!(sessions.mode, Mode::Sessions { calls: 10, .. }));
}

#[test]
fn http_2_has_many_requests_on_a_connection_in_an_open_loop_and_one_in_a_closed_one() {
    let streams = |arguments: &[&str]| load(&[arguments, &["http://a/"]].concat()).map(|load| load.streams);
    assert_eq!(streams(&["--rate", "50"]).unwrap(), None);
    assert_eq!(streams(&["--rate", "50", "--http2"]).unwrap(), Some(100));
    assert_eq!(streams(&["-c", "5", "--http2"]).unwrap(), Some(1));
    assert_eq!(streams(&["-c", "5", "--http2", "--streams", "20"]).unwrap(), Some(20));
    assert!(streams(&["-c", "5", "--streams", "20"]).unwrap_err().contains("--http2"));
}

#[test]
fn requests_of_a_rate_take_as_long_as_they_take() {
    let load = load(&["--rate", "50", "-n", "1000", "http://a/"]).unwrap();
    assert!(matches!(&load.mode, Mode::Open { phases, .. } if (phases.duration_s() - 20.0).abs() < 1e-9));
}

#[test]
fn what_cannot_be_is_told() {
    for (arguments, part) in [
        (&["http://a/"][..], "--rate 500"),
        (&["--rate", "0", "http://a/"], "no request"),
        (&["--rate", "5", "--connections", "5", "http://a/"], "cannot be used with"),
        (&["--rate", "5"], "required"),
        (&["--rate", "5", "--pause", "1s", "http://a/"], "--connections or --calls"),
        (&["--rate", "5", "--verify", "md4=00", "http://a/"], "adler32"),
        (&["--rate", "5", "--verify", "sha-256=00", "http://a/"], "hexadecimal"),
        (&["--rate", "5", "--report", "pdf", "http://a/"], "vegeta-json"),
        (&["--rate", "5", "--mix", "GET", "http://a/"], "METHOD=WEIGHT"),
        (&["--rate", "5", "--targets", "/nowhere/targets"], "/nowhere/targets"),
        (&["--rate", "5", "--expect-status", "1xx", "http://a/"], "2xx,404"),
        (&["--rate", "5", "--expect-success", "101", "http://a/"], "99.5%"),
        (&["--rate", "5", "--expect-balance", "even", "http://a/"], "equal:3"),
        (&["--rate", "5", "--expect-balance", "each:0", "http://a/"], "each:3"),
    ] {
        let error = load(arguments).map(|load| format!("{load:?}")).unwrap_err();
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
}

#[test]
fn to_verify_what_is_announced_it_is_asked_for() {
    let load = load(&["--rate", "5", "--verify", "announced", "http://a/"]).unwrap();
    assert_eq!(load.verify, Some(Verify::Announced));
    assert_eq!(load.targets[0].headers[0].0, "Want-Digest");
}

#[test]
fn a_log_is_replayed_against_the_server_of_the_url() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("access.log");
    let line = "a - - [21/Nov/2026:08:48:21 +0000] \"GET /x?y HTTP/1.1\" 200 5\n";
    std::fs::write(&log, line.repeat(2)).unwrap();
    let load = load(&["--replay", log.to_str().unwrap(), "https://b:444/ignored"]).unwrap();
    assert_eq!((load.log.len(), load.targets.len()), (2, 1));
    assert_eq!(load.targets[0].url, "https://b:444/x?y");
}

#[test]
fn a_report_of_a_file_has_its_own_arguments() {
    let args = parse(&["report", "--type", "vegeta-hist[0,1ms]", "run.weir"]).unwrap();
    let Some(super::LoadVerb::Report(report)) = args.verb else { panic!("{args:?}") };
    assert_eq!(report.file, Path::new("run.weir"));
    assert_eq!(report.form.form, Form::VegetaHistogram("0,1ms".to_owned()));
}

fn progress(at_s: f64, times: &[(u64, u64)]) -> Progress {
    let mut latency = Histogram::new(Resolution::Fine);
    times.iter().for_each(|(us, count)| latency.record_many(*us, *count));
    let count = latency.count();
    Progress {
        at_s,
        due: count,
        sent: count,
        late: 0,
        answered: count,
        failed: 1,
        bytes_in: count * 1024,
        latency,
    }
}

#[test]
fn the_screen_shows_rates_and_where_latencies_lie() {
    let mut screen = Screen::of("GET http://a/".to_owned(), Some(10.0), progress(0.0, &[]));
    screen.add(progress(0.5, &[(50, 100)]));
    screen.add(progress(1.0, &[(50, 150), (50_000, 50)]));
    let mut terminal = Terminal::new(TestBackend::new(70, Screen::LINES)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    insta::assert_snapshot!(terminal.backend());
}
