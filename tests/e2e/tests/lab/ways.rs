//! Tests of `weir lab` with responses that bypass the balancer: files that it sends in place of a server,
//! redirects, and no balancer.

use serde_json::Value;
use weir_e2e::Lab;

const SCENARIO: &str = r#"
rivals = [
    "none",
    { product = "none", name = "dns", way = "dns" },
    "weir",
    { product = "weir", name = "weir offloaded", way = "offloaded" },
    { product = "weir", name = "weir redirected", way = "redirected" },
    { product = "nginx", name = "nginx offloaded", way = "offloaded" },
]
algorithms = "round-robin"
repeats = 1
warm-up = "20ms"
watch = "50ms"

[servers]
kind = "storage"
count = 2

[[test]]
name = "GET"
connections = 2
requests = 40
size = "100KiB"
"#;

#[test]
fn every_way_brings_every_file_whole_and_servers_are_asked_in_turn() {
    let lab = Lab::new(SCENARIO);
    let output = lab.run(&["run", "tiny.toml", "--json", "--csv", "ways.csv", "--markdown", "ways.md"]);
    let (report, said) = (output.json(), output.text());
    let runs = if said.contains("nginx offloaded is left out") { 5 } else { 6 };
    assert_eq!(report["runs"], runs, "{said}");
    // Wrong sizes and uneven shares are flaws here. A generator without enough CPU time is a flaw, too, but
    // may happen in this test.
    let is_own = |flaw: &str| flaw.contains("bytes") || flaw.contains("servers");
    let invalid = report["invalid"].as_array().unwrap();
    let flaws =
        invalid.iter().flat_map(|run| run["flaws"].as_array().unwrap().iter().filter_map(Value::as_str));
    let own: Vec<&str> = flaws.filter(|flaw| is_own(flaw)).collect();
    assert!(own.is_empty(), "{own:?}");
    for run in lab.csv("ways.csv") {
        assert_eq!((run.get("sent"), run.get("succeeded")), ("40", "40"), "{run:?}\n{said}");
    }
    if invalid.is_empty() {
        let page = lab.read("ways.md");
        for rival in ["dns", "weir", "weir redirected"] {
            let row = page.lines().find(|line| line.starts_with(&format!("| GET | {rival} | "))).unwrap();
            assert!(row.contains("s1 20, s2 20"), "{row}");
        }
    }
}

#[test]
fn who_cannot_go_a_way_is_told_with_its_line() {
    for (from, to, line, said) in [
        ("product = \"nginx\", name", "product = \"haproxy\", name", 8, "haproxy has no way \"offloaded\""),
        ("kind = \"storage\"", "kind = \"origin\"", 6, "needs kind = \"storage\""),
        ("requests = 40", "requests = 40\nmethod = \"PUT\"", 19, "only a GET"),
    ] {
        let text = Lab::new(&SCENARIO.replace(from, to)).run(&["run", "tiny.toml"]).text();
        assert!(text.contains(&format!("tiny.toml:{line}")) && text.contains(said), "{text}");
    }
}
