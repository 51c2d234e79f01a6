//! Tests of `weir lab` with every rival on this machine. The report names the missing rivals.

use std::path::Path;

use weir_e2e::Lab;

const TEST: &str = "repeats = 1\nwarm-up = \"50ms\"\nwatch = \"50ms\"\nalgorithms = \"round-robin\"\n\
    [servers]\ncount = 2\n[balancer]\ncheck = \"/health\"\n\
    [[test]]\nname = \"GET\"\nconnections = 2\nrequests = 40\nsize = \"10KiB\"\ncheck-balance = false\n";

/// Runs the test with these rivals and checks the results. Returns the rivals that were present, and the
/// output.
fn play(rivals: &[&str], topology: &str) -> (Vec<String>, String) {
    let lab = Lab::new(&format!("rivals = {rivals:?}\n{topology}{TEST}"));
    let output = lab.run(&["run", "tiny.toml", "--json", "--csv", "all.csv", "--markdown", "all.md"]);
    output.json();
    let said = output.text();
    let report = lab.read("all.md");
    let mut there = Vec::new();
    for run in lab.csv("all.csv") {
        assert_eq!((run.get("sent"), run.get("succeeded")), ("40", "40"), "{run:?}\n{said}");
        there.push(run.get("rival").to_owned());
    }
    for rival in rivals {
        let is_there = there.iter().any(|name| name == rival);
        let is_left_out = said.contains(&format!("{rival} is left out: "));
        assert!(is_there != is_left_out, "{rival}: {said}");
        // The report gives the reason for each missing rival, and the version of each present one.
        assert!(is_there || report.contains(&format!("- {rival}: ")), "{report}");
        let row =
            report.lines().find(|line| line.starts_with(&format!("| {rival} | ")) && line.contains('.'));
        assert!(!is_there || row.is_some(), "{report}");
        if is_left_out {
            weir_testkit::untested(format!("needs {rival}"));
        }
    }
    (there, said)
}

#[test]
fn proxies_of_all_kinds_answer_every_request() {
    let (there, said) =
        play(&["weir", "haproxy", "nginx", "apache", "envoy", "caddy", "traefik", "pound", "sozu"], "");
    assert!(there.contains(&"weir".to_owned()), "{said}");
    for (rival, program) in [("caddy", "/usr/bin/caddy"), ("apache", "/usr/sbin/apache2")] {
        assert_eq!(there.contains(&rival.to_owned()), Path::new(program).exists(), "{said}");
    }
}

#[test]
fn unequal_servers_answer_by_their_weights_and_take_their_own_time() {
    let rivals = ["weir", "haproxy", "nginx", "apache", "caddy", "traefik", "pound"];
    let unequal = "[servers]\nweights = [3, 1]\ndelay = [\"1ms\", \"3ms\"]\nconcurrency = [8, 4]\n";
    let test = TEST.replace("[servers]\n", unequal).replace("check-balance = false\n", "");
    let lab = Lab::new(&format!("rivals = {rivals:?}\n{test}"));
    let output = lab.run(&["run", "tiny.toml", "--json", "--csv", "all.csv"]);
    let said = output.text();
    let invalid = output.json()["invalid"].to_string();
    assert!(!invalid.contains("requests per server"), "{said}");
    let runs = lab.csv("all.csv");
    assert!(runs.iter().any(|run| run.get("rival") == "weir"), "{said}");
    for run in runs {
        let (least, most) = (run.number("latency_min_ms"), run.number("latency_max_ms"));
        assert!(least >= 1.0 && most >= 3.0, "{run:?}");
        // Some rivals keep a separate server order in each of several processes.
        let (shares, name) = (run.get("requests_of_servers"), run.get("rival"));
        let first = shares.split(';').find_map(|share| share.strip_prefix("s1=")).unwrap();
        let first: u64 = first.parse().unwrap();
        assert!((28..=32).contains(&first), "{name}: {shares}\n{said}");
    }
}

#[test]
fn the_kernel_is_a_rival_where_it_can_be_one_and_leaves_no_rules() {
    if !rustix::process::geteuid().is_root() || !Path::new("/usr/sbin/ip").exists() {
        return weir_testkit::untested("needs root and ip");
    }
    let topology = "topology = { kind = \"namespaces\" }\n";
    // Weir runs after them with the same address and port: a leftover rule would take its connections.
    let (there, said) = play(&["nftables", "lvs", "weir"], topology);
    assert!(there.contains(&"weir".to_owned()), "{said}");
    if Path::new("/usr/sbin/nft").exists() {
        assert!(
            there.contains(&"nftables".to_owned()) || said.contains("the kernel does not take its rules"),
            "{said}"
        );
    }
}

#[test]
fn what_a_rival_cannot_do_is_told_with_its_line() {
    for (scenario, said) in [
        (format!("rivals = \"nftables\"\n{TEST}"), "nftables works on packets"),
        (
            format!(
                "rivals = \"pound\"\n{}",
                TEST.replace("check =", "tls-in = true\ntls-out = true\ncheck =")
            ),
            "pound does not verify",
        ),
        (format!("rivals = \"caddy\"\n{TEST}reload-every = \"1s\"\n"), "caddy does not reload by a signal"),
        (format!("rivals = \"traefik\"\n{}", TEST.replace("round-robin", "random")), "traefik has no random"),
    ] {
        let text = Lab::new(&scenario).run(&["run", "tiny.toml"]).text();
        assert!(text.contains("tiny.toml:") && text.contains(said), "{said}: {text}");
    }
}
