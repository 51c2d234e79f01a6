//! Tests of the CSV history: rows after a restart, and large or damaged files.

use std::fs;
use std::time::Duration;

use weir_config::plan::{HistoryForm, HistoryPlan};
use weir_fleet::History;
use weir_model::{ByteSize, Millis};
use weir_scale::history::{HEADING, HEADINGS_BEFORE, Row};
use weir_testkit::TempDir;

fn plan(directory: &TempDir, bytes_max: u64) -> HistoryPlan {
    let file = directory.path().join("new/history.csv");
    HistoryPlan { file, form: HistoryForm::Csv, interval: Millis(10_000), bytes_max: ByteSize(bytes_max) }
}

fn row(at: u32, decision: &str) -> Row {
    Row { timestamp: f64::from(at), needed: at, wanted: at, decision: decision.to_owned(), ..Row::default() }
}

/// Returns the same row as in a file, if it is the only look of its span.
fn alone(at: u32, decision: &str) -> Row {
    let needed = f64::from(at);
    Row { needed_mean: Some(needed), needed_peak: Some(at), ..row(at, decision) }
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn rows_are_written_when_it_is_time_or_something_was_done_and_found_again() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    let (mut history, rows) = History::open(&plan).unwrap();
    assert_eq!(rows, []);
    let written: Vec<bool> = [(1, ""), (5, ""), (6, "create 2"), (10, ""), (16, "")]
        .into_iter()
        .map(|(second, decision)| history.note(at(second.into()), &row(second, decision)).unwrap())
        .collect();
    assert_eq!(written, [true, false, true, false, true]);
    let text = fs::read_to_string(&plan.file).unwrap();
    assert!(text.starts_with(HEADING) && text.matches(HEADING).count() == 1, "{text}");
    drop(history);
    let (_, rows) = History::open(&plan).unwrap();
    let peaks = rows.iter().map(|row| (row.needed, row.needed_peak));
    assert_eq!(peaks.collect::<Vec<_>>(), [(1, Some(1)), (6, Some(6)), (16, Some(16))]);
    assert_eq!(rows.iter().map(|row| row.decision.as_str()).collect::<Vec<_>>(), ["", "create 2", ""]);
}

#[test]
fn half_a_row_is_passed_over_and_does_not_spoil_the_next_one() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    drop(History::open(&plan).unwrap());
    let whole = row(1, "");
    fs::write(&plan.file, format!("{HEADING}\n{whole}\n2,0,,")).unwrap();
    let (mut history, rows) = History::open(&plan).unwrap();
    assert_eq!(rows, [row(1, "")]);
    history.note(at(3), &row(3, "")).unwrap();
    drop(history);
    let (_, rows) = History::open(&plan).unwrap();
    assert_eq!(rows, [row(1, ""), alone(3, "")]);
}

#[test]
fn a_large_history_is_put_aside_and_a_new_one_begun() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 600);
    let (mut history, _) = History::open(&plan).unwrap();
    for second in 0..40 {
        history.note(at(second * 10), &row(second as u32, "")).unwrap();
    }
    let aside = fs::read_to_string(format!("{}.1", plan.file.display())).unwrap();
    let now = fs::read_to_string(&plan.file).unwrap();
    for text in [&aside, &now] {
        assert!(text.starts_with(HEADING) && text.len() < 800, "{text}");
    }
    assert!(now.lines().last().unwrap().starts_with("39,"));
}

#[test]
fn all_that_was_ever_noted_is_played_again_what_was_put_aside_first() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 600);
    let (mut history, _) = History::open(&plan).unwrap();
    // Stops at the first rotation, because a second one would replace the rotated file.
    let last = (0..).find(|second| {
        history.note(at(second * 10), &row(*second as u32, "")).unwrap();
        std::path::Path::new(&format!("{}.1", plan.file.display())).exists()
    });
    let mut seen = Vec::new();
    History::replay(&plan, |row| seen.push(row.needed)).unwrap();
    assert_eq!(seen, (0..=last.unwrap() as u32).collect::<Vec<_>>());
}

#[test]
fn of_two_who_would_write_one_file_the_second_is_told_and_may_look() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    assert_eq!(History::latest(&plan).unwrap(), []);
    let (mut history, _) = History::open(&plan).unwrap();
    history.note(at(1), &row(1, "")).unwrap();
    let refusal = History::open(&plan).unwrap_err().to_string();
    assert!(refusal.contains("history.csv: another process"), "{refusal}");
    assert_eq!(History::latest(&plan).unwrap(), [alone(1, "")]);
}

#[test]
fn a_file_with_the_columns_of_before_gets_those_of_today_and_loses_nothing() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    let old = HEADINGS_BEFORE[0];
    fs::create_dir_all(plan.file.parent().unwrap()).unwrap();
    let aside = format!("{}.1", plan.file.display());
    fs::write(&aside, format!("{old}\n5,0,,,,1,0,0,,\n")).unwrap();
    fs::write(&plan.file, format!("{old}\n6,0,,,,1,0,0,,\n7,0,,,,1,0,0,\"a, b\",\n8,0,,")).unwrap();
    let (mut history, rows) = History::open(&plan).unwrap();
    assert_eq!(rows.iter().map(|row| row.timestamp).collect::<Vec<_>>(), [6.0, 7.0]);
    assert_eq!(rows[1].decision, "a, b");
    // The news is returned once.
    let news = history.news().unwrap();
    assert!(news.contains("history.csv has the columns of today now; rows of an earlier version"), "{news}");
    assert_eq!(history.news(), None);
    history.note(at(1), &row(9, "")).unwrap();
    let mut seen = Vec::new();
    History::replay(&plan, |row| seen.push(row.timestamp)).unwrap();
    assert_eq!(seen, [5.0, 6.0, 7.0, 9.0]);
    let text = fs::read_to_string(&plan.file).unwrap();
    assert!(text.starts_with(&format!("{HEADING}\n6,")) && !text.contains("8,0,,"), "{text}");
}

#[test]
fn a_file_of_somebody_else_is_put_where_nothing_is() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    fs::create_dir_all(plan.file.parent().unwrap()).unwrap();
    let aside = |number: u32| format!("{}.{number}", plan.file.display());
    fs::write(aside(1), format!("{HEADING}\n{}\n", row(5, ""))).unwrap();
    fs::write(&plan.file, "a,b\n1,2\n").unwrap();
    let (mut history, rows) = History::open(&plan).unwrap();
    assert_eq!(rows, []);
    history.note(at(1), &row(8, "")).unwrap();
    let mut seen = Vec::new();
    History::replay(&plan, |row| seen.push(row.needed)).unwrap();
    assert_eq!(seen, [5, 8]);
    assert_eq!(fs::read_to_string(aside(2)).unwrap(), "a,b\n1,2\n");
}

#[test]
fn a_row_tells_of_all_looks_since_the_row_before() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    let (mut history, _) = History::open(&plan).unwrap();
    // A look takes place each second. A burst lasts three of ten seconds, and is over when the row is
    // written.
    for second in 0..=10_u64 {
        let requests = if (4..7).contains(&second) { 300 } else { 6 };
        let look = Row {
            requests: Some(requests),
            rate_per_s: Some(requests as f64),
            demand: Some(requests as f64 / 100.0),
            ..row(u32::try_from(second).unwrap(), "")
        };
        history.note(at(second), &look).unwrap();
    }
    drop(history);
    let (_, rows) = History::open(&plan).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1].requests, Some(942));
    assert!((rows[1].rate_per_s.unwrap() - 94.2).abs() < 1e-9, "{:?}", rows[1]);
    assert!((rows[1].demand.unwrap() - 0.942).abs() < 1e-9, "{:?}", rows[1]);
    assert_eq!((rows[1].rate_peak_per_s, rows[1].demand_peak), (Some(300.0), Some(3.0)));
}

#[test]
fn a_row_has_mean_and_peak_of_what_was_needed_and_every_alarm_once() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    let (mut history, _) = History::open(&plan).unwrap();
    for second in 0..=10_u64 {
        let (needed, alarms) = match second {
            4 => (12, "12 servers are wanted, 4 are permitted"),
            5 => (14, "14 servers are wanted, 4 are permitted"),
            _ => (2, ""),
        };
        let look = Row { needed, wanted: needed.min(4), alarms: alarms.to_owned(), ..row(0, "") };
        history.note(at(second), &look).unwrap();
    }
    drop(history);
    let (_, rows) = History::open(&plan).unwrap();
    let row = rows.last().unwrap();
    assert_eq!((row.needed, row.wanted, row.needed_mean, row.needed_peak), (2, 2, Some(4.2), Some(14)));
    assert_eq!(row.alarms, "12 servers are wanted, 4 are permitted");
}

#[test]
fn rows_that_an_earlier_version_has_left_tell_what_came_by_their_counter() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    fs::create_dir_all(plan.file.parent().unwrap()).unwrap();
    let old = format!("{}\n100,0,1000,,,1,1,1,,,\n110,10,1922,6,6,1,1,1,,,0.6\n", HEADINGS_BEFORE[1]);
    fs::write(&plan.file, old).unwrap();
    let (history, rows) = History::open(&plan).unwrap();
    assert_eq!((rows[1].requests, rows[1].rate_per_s), (Some(922), Some(92.2)));
    drop(history);
    let mut seen = Vec::new();
    History::replay(&plan, |row| seen.push(row.rate_per_s)).unwrap();
    assert_eq!(seen, [None, Some(92.2)]);
}
