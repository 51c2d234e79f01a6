//! Tests of the reports.

use super::*;
use crate::facts::{Expected, Facts, FirstAnswer, Head, Mode, QuotaFacts, ThreadFacts};
use crate::record::{Fault, Record};
use crate::schedule::{Arrivals, Phases};
use crate::summary::Run;
use crate::tally::Tally;
use std::time::Duration;

const MS: u64 = 1_000_000;

/// Returns a run of 100 requests, 10 ms apart, with latencies of 1 to 100 ms. The last request fails.
pub(crate) fn run() -> Run {
    let phases = Phases::parse("100", Duration::from_secs(1), None).unwrap();
    let head = Head {
        format: 1,
        version: "0.1.0".to_owned(),
        started_unix_ns: 1_795_250_901_000_000_000,
        mode: Mode::Open { phases, arrivals: Arrivals::Even },
        targets: vec!["GET http://a/".to_owned(), "PUT http://a/<b>".to_owned()],
        requests: Some(100),
        duration_s: Some(1.0),
        streams: None,
        connections_max: 50,
        threads: 1,
        timeout_s: 30.0,
        expected: Expected::default(),
    };
    let mut tally = Tally::new(2, &head.expected);
    for at in 0..100 {
        let due_ns = at * 10 * MS;
        tally.add(&Record {
            due_ns,
            start_ns: due_ns + 10_000,
            connected_ns: (at < 10).then_some(due_ns + 510_000),
            first_byte_ns: Some(due_ns + 600_000),
            end_ns: due_ns + (at + 1) * MS,
            target: (at % 2) as u32,
            status: 200,
            fault: (at == 99).then_some(Fault::Truncated),
            bytes_out: 50,
            head_out: 50,
            bytes_in: 1_000,
            head_in: 100,
            server: Some(0),
            starved: false,
            verified: (at < 2).then_some(at == 0),
        });
    }
    let facts = Facts {
        wall_ns: 1_090 * MS,
        due: 100,
        connections: 10,
        connections_at_once: 10,
        connect_burst_max: 3,
        threads: vec![ThreadFacts {
            wall_ns: 1_090 * MS,
            busy_ns: 90 * MS,
            spin_ns: 0,
            run_delay_ns: Some(MS),
            is_ahead: false,
            stalled_ns: 0,
        }],
        first_answer: Some(FirstAnswer { software: "nginx/1.22".to_owned(), body_bytes: 1_000 }),
        cpu_user_ns: 40 * MS,
        cpu_system_ns: 60 * MS,
        ..Facts::default()
    };
    Run { head, tally, facts: Some(facts), servers: vec!["a".to_owned()] }
}

#[test]
fn the_own_report_has_both_latencies_and_a_verdict() {
    let text = text(&run());
    for part in [
        "GET http://a/ and 1 more targets\nopen loop: 100/s for 1s, evenly spaced; up to 50 connections; 1 thread\n",
        "Requests     100 due, 100 sent, 99 answered, 99 as expected (99.00%)\n",
        "from due   from sent     connect     waiting    transfer\n",
        "Failed       1 times: the answer's body was shorter than announced\n",
        "\nVALID: the generator did what it was asked to\n",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
}

#[test]
fn vegetas_text_is_as_vegeta_writes_it() {
    let text = vegeta_text(&run());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Requests      [total, rate, throughput]         100, 101.01, 90.83");
    assert_eq!(lines[1], "Duration      [total, attack, wait]             1.08999s, 990ms, 99.99ms");
    assert!(
        lines[2].starts_with("Latencies     [min, mean, 50, 90, 95, 99, max]  1ms, 50.5ms, 49.9"),
        "{}",
        lines[2]
    );
    assert_eq!(lines[5], "Success       [ratio]                           99.00%");
    assert_eq!(lines[6], "Status Codes  [code:count]                      0:1  200:99");
    assert_eq!(lines[7..], ["Error Set:", "the answer's body was shorter than announced"]);
}

#[test]
fn vegetas_json_has_its_keys_and_units() {
    let json: serde_json::Value = serde_json::from_str(&vegeta_json(&run())).unwrap();
    assert_eq!(json["requests"], 100);
    assert_eq!(json["latencies"]["min"], 1_000_000);
    assert_eq!(json["latencies"]["max"], 100_000_000);
    assert_eq!(json["bytes_in"]["mean"], 1_000.0);
    assert_eq!(json["earliest"], "2026-11-21T08:48:21.000010000Z");
    assert_eq!(json["status_codes"]["200"], 99);
}

#[test]
fn vegetas_histogram_has_every_request_in_one_bucket() {
    let text = vegeta_histogram(&run(), "[0,10.5ms,50.5ms]").unwrap();
    let counts: Vec<u64> = text
        .lines()
        .skip(1)
        .map(|line| line.split(']').nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(counts, [10, 40, 50], "{text}");
    assert!(text.contains("[50.5ms,   +Inf]  50  50.00%"), "{text}");
    assert!(vegeta_histogram(&run(), "5ms,1ms").is_err());
    assert!(vegeta_histogram(&run(), "soon").is_err());
}

#[test]
fn abs_report_has_its_times() {
    let text = ab(&run());
    for part in [
        "\n\nServer Software:        nginx/1.22\nServer Hostname:        a\nServer Port:            80\n\n",
        "Document Path:          /\nDocument Length:        1000 bytes\n\nConcurrency Level:      10\n",
        "Complete requests:      99\n",
        "Failed requests:        1\n   (Connect: 0, Receive: 0, Length: 0, Exceptions: 1)\n",
        "Requests per second:",
        "Connection Times (ms)\n              min  mean[+/-sd] median   max\n",
        "\nTotal:          1   50  28.6     50      99\n",
        "\n  50%     50\n",
        "\n 100%     99 (longest request)\n",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
}

#[test]
fn abs_file_has_a_line_for_each_request() {
    let mut out = AB_TSV_HEADING.to_owned();
    let record = Record {
        start_ns: MS,
        connected_ns: Some(2 * MS),
        first_byte_ns: Some(5 * MS),
        end_ns: 6 * MS,
        ..Record::default()
    };
    append_ab_tsv(&mut out, 1_795_250_901_000_000_000, &record);
    assert_eq!(
        out,
        "starttime\tseconds\tctime\tdtime\tttime\twait\nSat Nov 21 08:48:21 2026\t1795250901\t1.000\t4.000\t5.000\t3.000\n"
    );
}

#[test]
fn httperfs_lines_are_as_httperf_writes_them() {
    let text = httperf(&run());
    for part in [
        "Maximum connect burst length: 3\n",
        "Total: connections 10 requests 100 replies 99 test-duration ",
        "Connection time [ms]: connect 0.5\n",
        "Reply size [B]: header 101.0 content 1010.1 footer 0.0 (total 1111.1)\n",
        "Reply status: 1xx=0 2xx=99 3xx=0 4xx=0 5xx=0\n",
        "Errors: total 1 client-timo 0 socket-timo 0 connrefused 0 connreset 0\n",
        "Errors: fd-unavail 0 addrunavail 0 ftab-full 0 other 1\n",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
}

#[test]
fn the_percentile_distribution_rises_to_all_requests() {
    let text = hdr(&run());
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(2)
        .take_while(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().map(|field| field.parse().unwrap()).collect())
        .collect();
    assert!(rows.is_sorted_by(|a, b| a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2]), "{text}");
    assert_eq!(rows.last().unwrap()[..], [99.0, 1.0, 99.0]);
    let half = rows.iter().find(|row| row[1] >= 0.5).unwrap();
    assert!((half[0] - 50.0).abs() < 0.5 && (half[3] - 2.0).abs() < 0.1, "{half:?}");
    assert!(text.contains("#[Max     =       99.000, Total count    =           99]"), "{text}");
}

#[test]
fn the_page_has_marks_in_its_charts_and_no_markup_from_outside() {
    let page = html(&run());
    let (page, scripts) = page.split_once("<script").unwrap();
    assert!(scripts.contains("Copyright (c) 2022 Leon Sorokin") && !scripts.contains("PUT"), "numbers only");
    for (part, least) in [("<svg", 4), ("class=\"curve", 9), ("<tr>", 8)] {
        let found = page.matches(part).count();
        assert!(found >= least, "{part}: {found}");
    }
    assert!(page.contains("PUT http://a/&lt;b&gt;") && !page.contains("<b>"));
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn a_run_of_which_nothing_came_has_reports_nonetheless() {
    let mut run = run();
    run.tally = Tally::new(2, &run.head.expected);
    let page = html(&run);
    let (page, scripts) = page.split_once("<script").unwrap();
    assert!(scripts.contains("id=\"plot-data\">{"), "{scripts}");
    let texts = [text(&run), ab(&run), httperf(&run), hdr(&run), vegeta_text(&run), vegeta_json(&run)];
    for text in texts.into_iter().chain([page.to_owned()]) {
        assert!(!text.is_empty() && !text.contains("NaN"), "{text}");
    }
    assert!(text(&run).contains("INVALID"));
}

#[test]
fn http_2_is_told_with_what_the_server_allows() {
    let mut run = run();
    run.head.streams = Some(20);
    run.facts.as_mut().unwrap().streams_allowed = Some(8);
    let text = text(&run);
    assert!(text.contains("; HTTP/2, up to 20 requests at a time on each; 1 thread\n"), "{text}");
    assert!(text.contains("idle; the server allows no more than 8 requests at a time on each\n"), "{text}");
}

#[test]
fn a_quota_that_was_used_up_is_named_as_the_cause() {
    let mut run = run();
    let facts = run.facts.as_mut().unwrap();
    facts.threads[0].run_delay_ns = Some(500 * MS);
    facts.quota = Some(QuotaFacts { group: "/web".to_owned(), cpus: 0.5, periods: 20, throttled: 19 });
    run.tally.late = 50;
    let told = text(&run);
    let cause = "the CPU quota of control group /web (0.5 CPUs) was used up in 19 of 20 periods";
    for part in [
        format!("\nQuota        {cause}\n"),
        format!("starts (50.00%) were over 1 ms late, the latest by 10.0us; {cause}; raise it\n"),
        format!("thread 0 for 45.9% of its time ({cause})\n"),
    ] {
        assert!(told.contains(&part), "{part:?} in\n{told}");
    }
    run.facts.as_mut().unwrap().quota.as_mut().unwrap().throttled = 0;
    assert!(!text(&run).contains("CPU quota"), "{}", text(&run));
}

#[test]
fn a_generator_that_stood_still_is_told() {
    let mut run = run();
    run.facts.as_mut().unwrap().threads[0].stalled_ns = 500 * MS;
    assert!(
        text(&run).contains("the generator stood still: thread 0 for 45.9% of its time"),
        "{}",
        text(&run)
    );
}
