//! Tests Weir with load generators, none of which may see an error.

use crate::site;
use crate::tool::{run, text};

#[test]
fn wrk_sees_no_error() {
    let site = site();
    let output = run("wrk", &["-t1", "-c32", "-d1s", &site.url("/bytes/1024")]);
    let report = text(&output);
    assert!(!report.contains("Socket errors") && !report.contains("Non-2xx"), "{report}");
    assert!(number(&report, "Requests/sec:") > 0.0);
}

#[test]
fn ab_sees_no_error_with_and_without_keep_alive() {
    for keep_alive in [true, false] {
        let site = site();
        let url = site.url("/bytes/1024");
        let mut arguments = vec!["-q", "-n", "2000", "-c", "16"];
        arguments.extend(keep_alive.then_some("-k"));
        arguments.push(&url);
        let output = run("ab", &arguments);
        let report = text(&output);
        assert_eq!(number(&report, "Complete requests:"), 2000.0, "{report}");
        assert_eq!(number(&report, "Failed requests:"), 0.0, "{report}");
        if keep_alive {
            assert_eq!(number(&report, "Keep-Alive requests:"), 2000.0, "{report}");
        }
        assert_eq!(site.requests(), 2000);
    }
}

#[test]
fn httperf_sees_no_error() {
    let site = site();
    let port = site.weir.addr("web").port().to_string();
    let arguments = [
        "--hog",
        "--server",
        "127.0.0.1",
        "--port",
        &port,
        "--uri",
        "/bytes/1024",
        "--num-conns",
        "50",
        "--num-calls",
        "10",
        "--rate",
        "200",
        "--timeout",
        "20",
    ];
    let output = run("httperf", &arguments);
    let report = text(&output);
    assert_eq!(number(&report, "replies"), 500.0, "{report}");
    assert_eq!(number(&report, "Errors: total"), 0.0, "{report}");
}

#[test]
fn h2load_in_http_1_mode_sees_no_error() {
    let site = site();
    let output = run("h2load", &["--h1", "-n", "1000", "-c", "8", "-m", "4", &site.url("/bytes/1024")]);
    let report = text(&output);
    assert!(report.contains("1000 succeeded, 0 failed, 0 errored, 0 timeout"), "{report}");
    assert_eq!(site.requests(), 1000);
}

/// Returns the number after a label in a report.
fn number(report: &str, label: &str) -> f64 {
    let behind = report.split_once(label).unwrap_or_else(|| panic!("no {label:?} in {report}")).1;
    let number: String =
        behind.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    number.parse().unwrap_or_else(|_| panic!("{label:?} in {report}"))
}
