//! Tests of `weir lab` with fleets: servers that follow demand.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use weir_e2e::Lab;
use weir_origin::{ServiceTime, Spread};
use weir_testkit::TempDir;

const SCENARIO: &str = r#"
rivals = [
    { product = "weir", name = "fixed" },
    { product = "weir", name = "fleet", fleet = { min = 1, max = 4, capacity = 50, policy = "reactive", minute = "500ms" } },
]
repeats = 1
warm-up = "100ms"
judge = "servers"

[servers]
count = 4
delay = "5ms"
concurrency = 4

[[test]]
name = "steps"
path = "/bytes/100"
phases = [{ rate = 20, for = "2s" }, { rate = 190, for = "4s" }, { rate = 20, for = "3s" }]
"#;

/// Returns the number of fleet servers that the balancers of the lab with this process id have started.
fn family(lab: u32) -> usize {
    let name = format!("WEIR_LAB_FAMILY=weir-lab-{lab}");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let environments = entries.filter_map(|entry| fs::read(entry.path().join("environ")).ok());
    environments.filter(|all| all.split(|byte| *byte == 0).any(|one| one == name.as_bytes())).count()
}

#[test]
fn servers_follow_a_load_of_phases_and_none_of_them_outlives_the_lab() {
    let lab = Lab::new(SCENARIO);
    let output = lab.run(&["run", "tiny.toml", "--csv", "steps.csv", "--html", "steps.html"]);
    let said = output.text();
    assert_eq!(family(output.pid), 0, "{said}");
    let runs = lab.csv("steps.csv");
    let servers = |rival: &str| {
        let run = runs.iter().find(|run| run.get("rival") == rival).unwrap();
        assert_eq!(run.get("sent"), "860", "20 in 2 s, 190 in 4 s, 20 in 3 s: {run:?}\n{said}");
        assert_eq!(run.get("succeeded"), "860", "{run:?}\n{said}");
        run.number("servers")
    };
    assert_eq!(servers("fixed"), 4.0);
    let mean = servers("fleet");
    assert!(mean > 1.0 && mean < 4.0, "{mean}: {said}");
    let page = lab.read("steps.html");
    assert!(page.contains("[fleet.web]"), "{said}");
    // A run whose generator lacked CPU time is left out and has no curve.
    let is_valid = runs.iter().any(|run| run.get("rival") == "fleet" && run.get("valid") == "true");
    assert!(!is_valid || page.contains("Servers over time"), "{said}");
}

#[test]
fn what_a_server_can_take_becomes_the_capacity_of_a_fleet() {
    // A server that handles 20 requests a second, one at a time.
    let service = ServiceTime { concurrency: 1, mean: Duration::from_millis(50), spread: Spread::Fixed };
    let origin = weir_origin::Origin::builder().name("a").service(service).start().unwrap();
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("weir.toml");
    let config = "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\ncheck = \"GET /health\"\n\n\
        [fleet.web]\npool = \"web\"\nmax = 3\ncapacity = 1 # a guess\nprocess = { command = \"/bin/true\" }\n";
    fs::write(&path, config).unwrap();
    let url = format!("http://{}/bytes/100", origin.addr());
    let find = |fleet: &str, latency: &str, max: &str| {
        let mut command = Command::new(weir_e2e::program());
        command.args(["lab", "find-capacity", &url, "--fleet", fleet, "--config"]).arg(&path);
        command.args(["--latency", latency, "--start", "5", "--max", max, "--for", "500ms", "--votes", "1"]);
        command.args(["--confidence", "80"]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // On a busy machine, the generator may lack CPU time; the program then reports that it has no result.
    let is_kept = |said: &str| said.contains("the generator did not do");
    let (status, said) = find("web", "20s", "6");
    let written = || fs::read_to_string(&path).unwrap();
    assert!(status == Some(2) && (said.contains("raise --max") || is_kept(&said)), "{said}");
    assert_eq!(written(), config, "a bound is no capacity");
    let (status, said) = find("web", "300ms", "200");
    let value =
        written().lines().find_map(|line| line.strip_prefix("capacity = ")?.split(' ').next()?.parse().ok());
    match status {
        Some(0) => {
            assert!((5.0..60.0).contains(&value.unwrap_or(0.0)), "{}: {said}", written());
            assert!(said.contains("it is at least that with 90% confidence"), "{said}");
        }
        _ => assert!(is_kept(&said) && written() == config, "{said}"),
    }
    let (status, said) = find("other", "1s", "40");
    assert!(status == Some(2) && said.contains("no table [fleet.other]"), "{said}");
}

#[test]
fn who_has_no_fleets_is_told_with_its_line() {
    let wrong =
        SCENARIO.replace("product = \"weir\", name = \"fleet\"", "product = \"nginx\", name = \"fleet\"");
    let said = Lab::new(&wrong).run(&["run", "tiny.toml"]).text();
    assert!(said.contains("tiny.toml:4") && said.contains("only `weir` has fleets"), "{said}");
}
