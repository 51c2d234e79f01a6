//! Tests of the history files of a fleet, as CSV and as a database.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use weir_e2e::Weir;
use weir_testkit::{PATIENCE, Signal, wait_until};

use crate::place::{Place, ask, fleet, has_settled_at, told};

const RULES: &str = "min = 1\nmax = 4\ncapacity = 10\nstandby = 0\n";

fn column<'r>(rows: &'r [Value], name: &str) -> Vec<&'r Value> {
    rows.iter().map(|row| &row[name]).collect()
}

#[test]
fn a_history_is_kept_as_csv_and_as_a_database_that_can_be_asked_meanwhile_and_played_again() {
    let place = Place::new();
    let (csv, database) = (place.path("fleet.csv"), place.path("fleet.sqlite"));
    let config = place.config(&format!("{RULES}history = [{csv:?}, {database:?}]\n"));
    let mut weir = Weir::start(&config);
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, 1));
    weir.obey(&json!({"fleet-scale": {"fleet": "web", "servers": 2}}));
    wait_until("the second one", PATIENCE, || has_settled_at(&weir, 2));
    let read = |weir: &Weir, file: &Path| -> Vec<Value> {
        let text = told(weir, &["history", "--json", "--file", file.to_str().unwrap()]);
        serde_json::from_str(&text).unwrap()
    };
    // Reads the database while it is written.
    wait_until("two servers are in the database", PATIENCE, || {
        read(&weir, &database).iter().any(|row| row["active_balancer"] == 2)
    });
    weir.signal(Signal::KILL);
    weir.wait();
    let (lines, rows) = (read(&weir, &csv), read(&weir, &database));
    assert!(rows.len() > 2 && column(&rows, "decision").contains(&&json!("create 1")), "{rows:?}");
    // Weir may be killed between the two writes, so one file may have one row more.
    let both = lines.len().min(rows.len());
    assert_eq!(lines[..both], rows[..both]);
    assert!(lines.len().abs_diff(rows.len()) <= 1);

    let weir = Weir::start(&config);
    wait_until("it goes on", PATIENCE, || read(&weir, &database).len() > rows.len() + 3);
    assert_eq!(read(&weir, &database)[..rows.len()], rows);
    for file in [&csv, &database] {
        let mut command = std::process::Command::new(weir_e2e::program());
        command
            .args(["fleet", "backtest", "--json", "--seeds", "1", "--policy", "target", "--history"])
            .arg(file);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(report["seconds"].as_u64() > Some(0), "{report}");
    }
    let whole = told(&weir, &["history", "--file", database.to_str().unwrap()]);
    assert!(whole.starts_with("timestamp,elapsed_s,requests_total,"), "{whole}");
}

#[test]
fn a_history_that_cannot_be_opened_is_told_and_the_fleet_scales_all_the_same() {
    let place = Place::new();
    let (csv, database) = (place.path("fleet.csv"), place.path("fleet.sqlite"));
    fs::create_dir(&csv).unwrap();
    fs::write(&database, "this is no database, and long enough to be taken for one".repeat(50)).unwrap();
    let weir = Weir::start(&place.config(&format!("{RULES}history = [{csv:?}, {database:?}]\n")));
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, 1));
    weir.obey(&json!({"fleet-scale": {"fleet": "web", "servers": 2}}));
    wait_until("the second one", PATIENCE, || has_settled_at(&weir, 2));
    let told = fleet(&weir)["events"].to_string();
    for why in ["fleet.csv: Is a directory", "fleet.sqlite: file is not a database"] {
        assert!(told.contains(why), "{told}");
    }
    let output = ask(&weir, &["history", "--file", csv.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("fleet.csv: Is a directory"), "{output:?}");
}

#[test]
fn a_history_of_an_earlier_version_is_played_by_its_counter_shown_and_taken_over_and_that_is_said() {
    let place = Place::new();
    let csv = place.path("fleet.csv");
    let mut text = String::from(
        "timestamp,elapsed_s,requests_total,requests,rate_per_s,needed,active_cloud,active_balancer,decision,reason,demand\n",
    );
    for row in 0..30 {
        // 922 requests in ten seconds; each row holds only the last second, with 6.
        text.push_str(&format!("{},{},{},6,6,2,2,1,,,0.6\n", 1_795_334_400 + row * 10, row * 10, row * 922));
    }
    fs::write(&csv, text).unwrap();
    let run = |arguments: &[&str]| {
        let output =
            std::process::Command::new(weir_e2e::program()).arg("fleet").args(arguments).arg(&csv).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.matches("rows of an earlier version").count(), 1, "{said}");
        output.stdout
    };
    let report: Value = serde_json::from_slice(&run(&[
        "backtest",
        "--json",
        "--seeds",
        "1",
        "--policy",
        "published",
        "--history",
    ]))
    .unwrap();
    let mean = report["mean_per_s"].as_f64().unwrap();
    assert!((mean - 92.2).abs() < 1.0, "{report}");
    let rows: Vec<Value> = serde_json::from_slice(&run(&["history", "--json", "--file"])).unwrap();
    let last = rows.last().unwrap();
    assert_eq!(
        (&last["requests"], &last["wanted"], &last["starting"]),
        (&json!(922), &json!(2), &Value::Null)
    );
    assert_eq!(last["date"], "2026-11-22T08:04:50.000Z");

    let mut weir = Weir::start(&place.config(&format!("{RULES}history = {csv:?}\n")));
    weir.wait_for_log("fleet.csv has the columns of today now; rows of an earlier version");
    wait_until("a look is in it", PATIENCE, || fs::read_to_string(&csv).unwrap().lines().count() > 32);
    let kept = fs::read_to_string(&csv).unwrap();
    let mut lines = kept.lines();
    assert!(lines.next().unwrap().ends_with("needed_mean,needed_peak,starting,draining,alarms"), "{kept}");
    assert!(lines.next().unwrap().contains(",2026-11-22T08:00:00.000Z,2,"), "{kept}");
}

/// Rules with forecasts for a load that repeats every 90 minutes.
const FORESEES: &str = "min = 1\nmax = 4\ncapacity = 10\nstandby = 0\n\
                        policy = { kind = \"predictive\", season = \"90m\", step = \"10s\" }\n";

/// Writes a history with a row for each of these ages, in seconds before now.
pub(crate) fn write_past(file: &Path, ages_s: impl Iterator<Item = u64>) {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut text = String::from(
        "timestamp,elapsed_s,requests_total,requests,rate_per_s,needed,active_cloud,active_balancer,decision,reason,demand\n",
    );
    for age_s in ages_s {
        let at_s = now_s - age_s;
        let rate_per_s = if at_s % 5_400 < 2_700 { 9 } else { 2 };
        text.push_str(&format!("{at_s},0,,,{rate_per_s},1,1,1,,,\n"));
    }
    fs::write(file, text).unwrap();
}

/// Makes the directory unusable: it is a symbolic link to nowhere, and cannot be created.
fn keep_away(place: &Place, directory: &Path) {
    symlink(place.path("nowhere"), directory).unwrap();
}

/// Puts the directory `later` in its place in one atomic step.
fn bring(place: &Place, later: &Path, directory: &Path) {
    let link = place.path("link");
    symlink(later, &link).unwrap();
    fs::rename(link, directory).unwrap();
}

#[test]
fn what_is_in_a_history_that_comes_after_the_start_is_known_to_forecasts() {
    let place = Place::new();
    let (later, directory) = (place.path("later"), place.path("disk"));
    keep_away(&place, &directory);
    let mut weir =
        Weir::start(&place.config(&format!("{FORESEES}history = {:?}\n", directory.join("web.csv"))));
    weir.wait_for_log("no history is kept");
    wait_until("it only follows", PATIENCE, || {
        told(&weir, &["explain"]).contains("no whole season was seen yet")
    });
    fs::create_dir(&later).unwrap();
    write_past(&later.join("web.csv"), (60..12_000).rev().step_by(10));
    bring(&place, &later, &directory);
    wait_until("it forecasts", PATIENCE, || told(&weir, &["explain"]).contains("by MSTL"));
}

#[test]
fn a_history_that_comes_after_the_start_takes_nothing_from_what_another_one_tells() {
    let place = Place::new();
    let (later, directory, good) = (place.path("later"), place.path("disk"), place.path("good.csv"));
    // More rows than the fleet keeps for `weir fleet history`. Two whole seasons exist only with the rest.
    write_past(&good, (1..12_000).rev());
    keep_away(&place, &directory);
    let late = directory.join("web.csv");
    let mut weir = Weir::start(&place.config(&format!("{FORESEES}history = [{good:?}, {late:?}]\n")));
    weir.wait_for_log("no history is kept");
    wait_until("it forecasts", PATIENCE, || told(&weir, &["explain"]).contains("by MSTL"));
    fs::create_dir(&later).unwrap();
    write_past(&later.join("web.csv"), std::iter::once(30_000));
    bring(&place, &later, &directory);
    wait_until("some looks are in it", PATIENCE, || fs::read_to_string(&late).unwrap().lines().count() > 5);
    wait_until("it forecasts as before", PATIENCE, || told(&weir, &["explain"]).contains("by MSTL"));
}
