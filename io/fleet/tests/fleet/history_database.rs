//! Tests of the history in a SQLite database: restarts, atomic rows, concurrent readers, the maximum size,
//! and files that cannot be used.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use weir_config::plan::{HistoryForm, HistoryPlan};
use weir_fleet::History;
use weir_model::{ByteSize, Millis};
use weir_scale::history::Row;
use weir_testkit::TempDir;

fn plan(directory: &TempDir, bytes_max: u64) -> HistoryPlan {
    let file = directory.path().join("new/history.sqlite");
    HistoryPlan {
        form: HistoryForm::of(&file),
        file,
        interval: Millis(10_000),
        bytes_max: ByteSize(bytes_max),
    }
}

fn row(at: u32) -> Row {
    Row {
        timestamp: 1.8e9 + f64::from(at),
        elapsed_s: f64::from(at),
        requests_total: (at > 0).then_some(u64::from(at) * 10),
        requests: (at > 1).then_some(10),
        rate_per_s: (at > 1).then_some(2.5),
        needed: at,
        active_cloud: 2,
        active_balancer: 1,
        decision: format!("create {at}"),
        reason: "said \"so\", twice".to_owned(),
        demand: (at > 1).then_some(0.25),
        wanted: at + 1,
        rate_peak_per_s: (at > 1).then_some(2.5),
        demand_peak: (at > 1).then_some(0.25),
        needed_mean: Some(f64::from(at)),
        needed_peak: Some(at),
        starting: Some(1),
        draining: Some(2),
        alarms: "it is broken".to_owned(),
    }
}

fn note(history: &mut History, rows: impl Iterator<Item = u32>) {
    for at in rows {
        assert!(history.note(Duration::from_secs(at.into()), &row(at)).unwrap());
    }
}

#[test]
fn rows_are_found_again_with_all_that_is_in_them() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    assert_eq!(plan.form, HistoryForm::Sqlite);
    assert_eq!(History::latest(&plan).unwrap(), []);
    let (mut history, rows) = History::open(&plan).unwrap();
    assert_eq!(rows, []);
    note(&mut history, 0..5);
    // No row is due, and no action was taken.
    let idle = Row { decision: String::new(), ..row(5) };
    assert!(!history.note(Duration::from_secs(5), &idle).unwrap());
    drop(history);
    let expected: Vec<Row> = (0..5).map(row).collect();
    let (_history, rows) = History::open(&plan).unwrap();
    assert_eq!(rows, expected);
    let mut seen = Vec::new();
    History::replay(&plan, |row| seen.push(row)).unwrap();
    assert_eq!(seen, expected);
    assert_eq!(History::of_database(&plan.file, 2).unwrap().unwrap(), expected[3..]);
}

#[test]
fn others_read_whole_rows_while_it_is_written_and_hold_nobody_up() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    let (mut history, _) = History::open(&plan).unwrap();
    note(&mut history, 0..3);
    let reader = Connection::open(&plan.file).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = || -> u32 {
        let sql = "SELECT count(*) FROM history WHERE reason = 'said \"so\", twice'";
        reader.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(count(), 3);
    // The rows are added during a reader's transaction, which does not see them.
    note(&mut history, 3..6);
    assert_eq!(count(), 3);
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!((count(), History::latest(&plan).unwrap().len()), (6, 6));
}

#[test]
fn what_a_killed_process_has_written_is_there() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    let (mut history, _) = History::open(&plan).unwrap();
    note(&mut history, 0..3);
    // Copies the files without a close, as after a crash.
    let place = directory.path().join("copy");
    fs::create_dir(&place).unwrap();
    for entry in fs::read_dir(plan.file.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "sqlite-shm") {
            fs::copy(&path, place.join(path.file_name().unwrap())).unwrap();
        }
    }
    let copy = HistoryPlan { file: place.join("history.sqlite"), ..plan };
    let (mut history, rows) = History::open(&copy).unwrap();
    assert_eq!(rows.len(), 3);
    note(&mut history, 3..4);
    assert_eq!(History::latest(&copy).unwrap(), (0..4).map(row).collect::<Vec<_>>());
}

#[test]
fn a_large_one_loses_its_oldest_rows_and_grows_no_more() {
    let directory = TempDir::new().unwrap();
    let (few, many) = (plan(&directory, 64 << 10), plan(&directory, 512 << 10));
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    let (mut history, _) = History::open(&many).unwrap();
    note(&mut history, 0..10_000);
    drop(history);
    let before = size(&many.file);
    assert!((256 << 10..=600 << 10).contains(&before), "{before}");
    let rows = History::latest(&many).unwrap();
    assert_eq!(rows.last().unwrap().needed, 9_999);
    assert!(rows.len() > 1_000 && rows.windows(2).all(|pair| pair[0].needed + 1 == pair[1].needed));
    // The database shrinks after its maximum size was reduced.
    let (mut history, _) = History::open(&few).unwrap();
    note(&mut history, 10_000..10_500);
    drop(history);
    assert!(size(&few.file) <= 80 << 10, "{}", size(&few.file));
    let rows = History::latest(&few).unwrap();
    assert!(rows.len() > 100 && rows.last().unwrap().needed == 10_499, "{}", rows.len());
}

#[test]
fn of_two_who_would_write_one_database_the_second_is_told_and_may_look() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    let (mut history, _) = History::open(&plan).unwrap();
    note(&mut history, 0..1);
    let refusal = History::open(&plan).unwrap_err().to_string();
    assert!(refusal.contains("history.sqlite: another process"), "{refusal}");
    assert_eq!(History::latest(&plan).unwrap(), [row(0)]);
}

#[test]
fn what_is_no_history_is_refused_by_name_and_left_as_it_is() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    fs::create_dir_all(plan.file.parent().unwrap()).unwrap();
    let refused = || {
        let refusals = [History::open(&plan).unwrap_err(), History::latest(&plan).unwrap_err()];
        refusals.map(|refusal| refusal.to_string())
    };
    fs::write(&plan.file, "timestamp,elapsed_s\n".repeat(100)).unwrap();
    for refusal in refused() {
        assert!(refusal.ends_with("history.sqlite: file is not a database"), "{refusal}");
    }
    assert_eq!(History::of_database(&plan.file, 1).unwrap(), None);
    fs::remove_file(&plan.file).unwrap();
    let other = Connection::open(&plan.file).unwrap();
    other.execute_batch("CREATE TABLE mine (a)").unwrap();
    let before = fs::read(&plan.file).unwrap();
    for refusal in refused() {
        assert!(refusal.ends_with("history.sqlite: is a database, and no history of a fleet"), "{refusal}");
    }
    assert_eq!(fs::read(&plan.file).unwrap(), before);
    other.execute_batch("PRAGMA application_id = 1466263922; PRAGMA user_version = 3").unwrap();
    for refusal in refused() {
        assert!(refusal.ends_with("is a history of another version of Weir"), "{refusal}");
    }
    drop(other);
    fs::remove_file(&plan.file).unwrap();
    fs::create_dir(&plan.file).unwrap();
    assert!(refused()[0].ends_with("history.sqlite: is a directory"), "{:?}", refused());
}

#[test]
fn a_row_that_finds_it_locked_is_refused_and_the_next_one_is_not() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    let (mut history, _) = History::open(&plan).unwrap();
    let other = Connection::open(&plan.file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refusal = history.note(Duration::ZERO, &row(1)).unwrap_err().to_string();
    assert!(refusal.ends_with("history.sqlite: database is locked"), "{refusal}");
    other.execute_batch("COMMIT").unwrap();
    note(&mut history, 2..3);
    assert_eq!(History::latest(&plan).unwrap(), [row(2)]);
}

#[test]
fn a_database_of_an_earlier_version_is_read_as_it_is_and_gets_the_columns_of_today_when_it_is_written() {
    let directory = TempDir::new().unwrap();
    let plan = plan(&directory, 1 << 20);
    fs::create_dir_all(plan.file.parent().unwrap()).unwrap();
    let before = Connection::open(&plan.file).unwrap();
    before
        .execute_batch(
            "PRAGMA auto_vacuum = INCREMENTAL;
             CREATE TABLE history (
               id INTEGER PRIMARY KEY, timestamp REAL NOT NULL, elapsed_s REAL NOT NULL, requests_total INTEGER, requests INTEGER,
               rate_per_s REAL, needed INTEGER NOT NULL, active_cloud INTEGER NOT NULL, active_balancer INTEGER NOT NULL,
               decision TEXT NOT NULL, reason TEXT NOT NULL, demand REAL
             ) STRICT;
             PRAGMA application_id = 1466263922; PRAGMA user_version = 1;
             INSERT INTO history VALUES (1, 1795334400.5, 0, 1000, NULL, NULL, 3, 2, 1, 'create 1', 'why', NULL);
             INSERT INTO history VALUES (2, 1795334410.5, 10, 1922, 6, 6.0, 3, 3, 3, '', '', 0.6);",
        )
        .unwrap();
    drop(before);
    let told = |rows: &[Row]| -> Vec<String> {
        let told = rows.iter().map(|row| {
            let Row { needed, wanted, requests, rate_per_s, starting, .. } = row;
            format!("{needed} {wanted} {requests:?} {rate_per_s:?} {starting:?}")
        });
        told.collect()
    };
    let expected = ["3 3 None None None", "3 3 Some(922) Some(92.2) None"];
    // Reads without the write lock.
    assert_eq!(told(&History::latest(&plan).unwrap()), expected);
    let (mut history, rows) = History::open(&plan).unwrap();
    assert_eq!(told(&rows), expected);
    assert!(history.news().unwrap().contains("history.sqlite has the columns of today now"));
    note(&mut history, 3..4);
    let rows = History::latest(&plan).unwrap();
    assert_eq!(told(&rows[..2]), expected);
    assert_eq!(rows[2], row(3));
    let reader = Connection::open(&plan.file).unwrap();
    let mut dates = reader.prepare("SELECT date FROM history ORDER BY id").unwrap();
    let dates: Vec<String> = dates.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(dates, rows.iter().map(Row::date).collect::<Vec<_>>());
    assert_eq!(dates[0], "2026-11-22T08:00:00.500Z");
}
