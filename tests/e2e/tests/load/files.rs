//! Tests of the result files of `weir load`.

use std::fs;

use weir_testkit::TempDir;

use crate::{json, origin, text, weir};

#[test]
fn a_run_is_kept_and_reported_in_every_form() {
    let (origin, directory) = (origin(), TempDir::new().unwrap());
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (kept, page, tsv) = (path("run.weir"), path("run.html"), path("run.tsv"));
    let targets = path("targets");
    fs::write(path("body"), "12345").unwrap();
    let url = format!("http://{}", origin.addr());
    fs::write(&targets, format!("GET {url}/bytes/10\nX-A: b\n\nPOST {url}/upload\n@body\n")).unwrap();
    let output = weir(&[
        "--rate",
        "100",
        "-n",
        "40",
        "--targets",
        &targets,
        "--output",
        &kept,
        "--html",
        &page,
        "-g",
        &tsv,
        "--json",
    ]);
    let summary = json(&output);
    assert_eq!(summary["requests"]["succeeded"], 40);
    assert_eq!(summary["targets"][0]["bytes_in"], 20 * 10);
    assert_eq!(summary["targets"][1]["succeeded"], 20);
    assert!(fs::read_to_string(&page).unwrap().contains("<svg"));
    assert_eq!(fs::read_to_string(&tsv).unwrap().lines().count(), 41);
    assert_eq!(json(&weir(&["report", "--json", &kept])), summary);
    for (form, part) in [
        ("text", "Requests     40 due"),
        ("ab", "Connection Times (ms)"),
        ("httperf", "Total: connections"),
        ("vegeta", "Success       [ratio]                           100.00%"),
        ("vegeta-json", "\"50th\":"),
        ("vegeta-hist[0,1ms,10ms]", "Bucket"),
        ("hdr", "1/(1-Percentile)"),
    ] {
        let output = weir(&["report", "--type", form, &kept]);
        assert!(text(&output).contains(part), "{form}: {}", text(&output));
    }
}

#[test]
fn a_file_that_was_cut_off_is_an_invalid_run() {
    let (origin, directory) = (origin(), TempDir::new().unwrap());
    let kept = directory.path().join("run.weir");
    let url = format!("http://{}/bytes/10", origin.addr());
    weir(&["-c", "2", "-n", "100", "-o", kept.to_str().unwrap(), &url]);
    let whole = fs::read(&kept).unwrap();
    fs::write(&kept, &whole[..whole.len() * 2 / 3]).unwrap();
    let output = weir(&["report", kept.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("the result file ends before the run does"), "{}", text(&output));
}

#[test]
fn a_file_in_which_requests_are_missing_because_of_its_disk_is_an_invalid_run() {
    let (origin, directory) = (origin(), TempDir::new().unwrap());
    let kept = directory.path().join("run.weir");
    let url = format!("http://{}/bytes/10", origin.addr());
    weir(&["-c", "2", "-n", "100", "-o", kept.to_str().unwrap(), &url]);
    let whole = fs::read_to_string(&kept).unwrap();
    assert_eq!(whole.matches("\"unrecorded\":0").count(), 1, "{whole}");
    fs::write(&kept, whole.replace("\"unrecorded\":0", "\"unrecorded\":7")).unwrap();
    let output = weir(&["report", kept.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output).contains("7 requests are missing in the result file: its disk did not keep up"),
        "{}",
        text(&output)
    );
}
