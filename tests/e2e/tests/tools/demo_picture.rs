//! Records the figures from which the picture of the README is drawn.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use weir_e2e::Demo;
use weir_testkit::{PATIENCE, wait_until};

#[test]
#[ignore = "writes data of another demo into the source: make picture"]
fn the_data_of_the_picture_of_the_readme_are_those_of_a_demo_that_runs() {
    let demo = Demo::start();
    let show = || -> Value {
        let mut ctl = Command::new(weir_e2e::program());
        ctl.args(["ctl", "--json", "--socket"]).arg(demo.control()).arg("show");
        let output = ctl.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    wait_until("some traffic, and servers of the fleet", PATIENCE, || {
        let snapshot = show();
        snapshot["process"]["requests_total"].as_u64() > Some(2_000)
            && snapshot["fleets"][0]["active"].as_u64() > Some(2)
    });
    let mut snapshots = vec![show()];
    let at = |snapshot: &Value| snapshot["time_unix_ms"].as_u64().unwrap();
    wait_until("a later one", PATIENCE, || {
        let snapshot = show();
        let is_later = at(&snapshot) > at(&snapshots[0]) + 3_000;
        if is_later {
            snapshots.push(snapshot);
        }
        is_later
    });
    for snapshot in &mut snapshots {
        // The picture does not show these parts, nor the name of this machine.
        for part in ["fleets", "storage"] {
            snapshot[part] = json!([]);
        }
        snapshot["process"]["host"] = json!("lb1");
    }
    let data = json!({
        "directory": Path::new("/tmp").join(demo.directory().file_name().unwrap()),
        "admin": demo.admin(),
        "victim_pid": demo.server_pid("c"),
        "snapshots": snapshots,
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bin/weir/src/demo/picture.json");
    std::fs::write(path, format!("{data}\n")).unwrap();
    assert!(demo.end().is_some(), "by itself");
}
