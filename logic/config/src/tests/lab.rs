//! Tests the lab's scenario file: its values, and the messages about mistakes.

use std::collections::BTreeSet;

use super::{every_key, keys_read};
use crate::lab::{Demand, Links, Product, Scenario, Scheme, ServerKind, Topology};
use crate::{Source, lab, render};

const EVERY_KEY: &str = include_str!("every_lab_key.toml");

fn load_as(text: &str, quick: bool) -> Result<Scenario, String> {
    lab::load(&Source::new("scenario.toml", text), quick, &|_| None)
        .map_err(|errors| errors.iter().map(|error| render(error, false)).collect::<Vec<_>>().join("\n"))
}

fn load(text: &str) -> Result<Scenario, String> {
    load_as(text, false)
}

/// Returns the input, a separator line and the output.
fn golden(text: &str) -> String {
    let complaints = load(text).map_or_else(|errors| errors, |scenario| format!("{scenario:?}"));
    format!("{}\n---\n{}", text.trim_end(), complaints.trim_end())
}

const SMALL: &str = "[[test]]\nconnections = 1\nsize = \"1KiB\"\n";

#[test]
fn a_scenario_of_three_lines_has_usual_rivals_over_loopback() {
    let scenario = load(SMALL).unwrap();
    let rivals: Vec<_> = scenario.rivals.iter().map(|rival| (rival.name.as_str(), rival.scheme)).collect();
    let with = |name| (name, Scheme::LeastConnections);
    assert_eq!(rivals, [with("weir"), with("haproxy"), with("nginx")]);
    assert_eq!((scenario.topology, scenario.repeats), (Topology::Loopback, 7));
    let case = &scenario.cases[0];
    assert_eq!((case.name.as_str(), case.servers, case.path.as_str()), ("1", 3, "/bytes/1024"));
    assert_eq!((case.demand, case.requests), (Demand::Connections(1), None));
}

#[test]
fn every_combination_of_a_tests_lists_is_a_case() {
    let scenario = load(EVERY_KEY.split("# ---\n").next().unwrap()).unwrap();
    let names: Vec<_> = scenario.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), 9);
    assert_eq!(names[0], "sizes, 3 servers, 1 KiB, 10 connections");
    assert_eq!(names[7], "sizes, 10 servers, 1 MB, 50 connections");
    assert_eq!(names[8], "session");
    let session = &scenario.cases[8];
    assert_eq!(session.demand, Demand::Rate { per_s: 50.5, poisson: true, calls: Some(10) });
    assert_eq!((session.method.as_str(), session.body_bytes), ("PUT", 1 << 20));
}

#[test]
fn rivals_with_several_algorithms_are_told_apart_and_none_has_one() {
    let scenario = load(EVERY_KEY.split("# ---\n").next().unwrap()).unwrap();
    let names: Vec<_> = scenario.rivals.iter().map(|rival| rival.name.as_str()).collect();
    assert_eq!(
        names,
        ["none", "weir round-robin", "weir least-connections", "new round-robin", "new least-connections"]
    );
    assert_eq!(scenario.rivals[3].product, Product::Haproxy);
    let Topology::Namespaces(Links { server, scale, .. }) = scenario.topology else { panic!("loopback") };
    assert_eq!((server, scale), (Some(50.0), 20.0));
}

#[test]
fn lvs_may_have_a_scheduler_of_its_own_and_nobody_else() {
    let text = format!(
        "rivals = [\"weir\", {{ product = \"lvs\", name = \"lblc\", scheduler = \"lblc\" }}]\nalgorithms = [\"random\", \"source\"]\n\
         topology = {{ kind = \"namespaces\" }}\n{SMALL}"
    );
    let scenario = load(&text).unwrap();
    let rivals: Vec<_> =
        scenario.rivals.iter().map(|rival| (rival.name.as_str(), rival.scheduler.as_deref())).collect();
    // The rival with its own scheduler runs only once, whatever the schemes of the others; it does not need
    // to support those schemes.
    assert_eq!(rivals, [("weir random", None), ("weir source", None), ("lblc", Some("lblc"))]);
    let said = load(&text.replace("product = \"lvs\"", "product = \"nginx\"")).unwrap_err();
    assert!(said.contains("only `lvs` has schedulers"), "{said}");
    assert!(load(&text.replace("\"lblc\" }", "\"lbcl\" }")).unwrap_err().contains("lblc"));
}

#[test]
fn weir_may_have_any_of_its_algorithms_with_options_and_nobody_else() {
    let text = |product: &str, balance: &str| {
        format!(
            "rivals = [\"weir\", {{ product = \"{product}\", name = \"own\", balance = {balance} }}]\nalgorithms = [\"random\", \"source\"]\n{SMALL}"
        )
    };
    let own = |balance: &str| {
        let mut rivals = load(&text("weir", balance)).unwrap().rivals;
        assert_eq!(rivals.len(), 3);
        (rivals.remove(2).balance.unwrap(), rivals.iter().all(|rival| rival.balance.is_none()))
    };
    assert_eq!(own("\"lblc\""), ("\"lblc\"".to_owned(), true));
    let long = "{ \"algorithm\" = \"ring\", \"key\" = \"header X-Tenant\", \"bounded-load\" = \"125%\" }";
    assert_eq!(own(long), (long.to_owned(), true));
    for (product, balance, wanted) in [
        ("nginx", "\"lblc\"", "only `weir` has it"),
        ("weir", "\"lbcl\"", "lblc"),
        ("weir", "\"hash\"", "A key is missing"),
        ("weir", "{ algorithm = \"hash\", key = \"colour\" }", "\"colour\" is not a key"),
    ] {
        let said = load(&text(product, balance)).unwrap_err();
        assert!(said.contains(wanted), "{said}");
    }
}

#[test]
fn what_a_rival_or_a_topology_cannot_do_is_told_with_its_line() {
    let tls = format!("rivals = \"pound\"\n{SMALL}[balancer]\ntls-in = true\ntls-out = true\n");
    let cases = [
        (format!("rivals = \"nftables\"\n{SMALL}"), "nftables works on packets"),
        (tls, "pound does not verify servers over TLS"),
        (format!("rivals = \"caddy\"\n{SMALL}reload-every = \"1s\"\n"), "caddy does not reload by a signal"),
        ("[[test]]\nrate = 10\nsize = \"1KiB\"\nlose = \"machine\"\n".to_owned(), "[balancer] needs `pair`"),
    ];
    for (scenario, said) in cases {
        let text = load(&scenario).unwrap_err();
        assert!(text.contains(said) && text.contains("scenario.toml:"), "{said}: {text}");
    }
}

#[test]
fn the_quick_form_changes_what_tests_say_and_no_more() {
    let scenario = load_as(EVERY_KEY.split("# ---\n").next().unwrap(), true).unwrap();
    let names: Vec<_> = scenario.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["sizes, 3 servers", "sizes, 10 servers"]);
    let case = &scenario.cases[0];
    assert_eq!((case.demand, case.requests, case.size), (Demand::Connections(2), Some(100), Some(1024)));
    assert_eq!((scenario.repeats, scenario.warm_up.0, scenario.margin), (4, 100, 0.2));
    let unsaid = load_as(SMALL, true).unwrap();
    assert_eq!((unsaid.repeats, unsaid.cases[0].requests), (3, None));
    // Short runs distinguish less.
    assert_eq!((unsaid.margin, load(SMALL).unwrap().margin), (0.1, 0.05));
    let said = load_as("[[test]]\nconnections = 1\n", true).unwrap_err();
    assert_eq!(said.matches("say what is asked for").count(), 1, "{said}");
}

#[test]
fn machines_have_their_addresses_and_what_needs_one_machine_is_refused() {
    let scenario = load(EVERY_KEY.rsplit("# ---\n").next().unwrap()).unwrap();
    let hosts = scenario.hosts.unwrap();
    assert_eq!((scenario.topology, hosts.balancer.destination.as_str()), (Topology::Hosts, "root@b"));
    let second = &hosts.servers[1];
    assert_eq!((second.destination.as_str(), second.address), ("c", "fd00::3".parse().ok()));
    assert_eq!(hosts.timeout.0, 30_000);
    let said = |topology: &str, more: &str| {
        load(&format!("topology = {{ {topology} }}\n{more}{SMALL}")).unwrap_err()
    };
    for (topology, more, wanted) in [
        ("kind = \"ssh\"", "", "balancer: kind = \"ssh\" needs to know where"),
        ("kind = \"ssh\", balancer = \"b\", servers = []", "", "servers: kind = \"ssh\" needs to know where"),
        ("kind = \"ssh\", balancer = \"-oProxyCommand=x\", servers = \"s\"", "", "needs to know where"),
        (
            "kind = \"ssh\", balancer = \"b\", servers = \"s\", server-addresses = [\"::1\", \"::2\"]",
            "",
            "2 addresses for 1 machines",
        ),
        (
            "kind = \"ssh\", balancer = \"b\", servers = \"s\", balancer-address = \"b\"",
            "",
            "balancer-address: invalid IP address",
        ),
        (
            "kind = \"ssh\", balancer = \"b\", servers = \"s\", server-rate = 10",
            "",
            "machines have the links that they have",
        ),
        ("kind = \"namespaces\", servers = \"s\"", "", "only kind = \"ssh\" has machines"),
        ("kind = \"ssh\", balancer = \"b\", servers = \"s\"", "rivals = \"nftables\"\n", "works on packets"),
        (
            "kind = \"ssh\", balancer = \"b\", servers = \"s\"",
            "balancer = { pair = {} }\n",
            "a pair has a network for each",
        ),
        (
            "kind = \"ssh\", balancer = \"b\", servers = \"s\"",
            "rivals = { product = \"weir\", way = \"redirected\" }\nservers = { kind = \"storage\" }\n",
            "shares a secret with the servers",
        ),
        (
            "kind = \"ssh\", balancer = \"b\", servers = \"s\"",
            "rivals = { product = \"nginx\", way = \"offloaded\" }\nservers = { kind = \"storage\" }\n",
            "nginx sends files in the servers' place",
        ),
        (
            "kind = \"ssh\", balancer = \"b\", servers = \"s\"",
            "rivals = { product = \"weir\", fleet = { max = 3, capacity = 10 } }\n",
            "weir has a fleet: not with kind = \"ssh\"",
        ),
        (
            "kind = \"ssh\", balancer = \"b\", servers = \"s\", timeout = \"0s\"",
            "",
            "0s is out of range: 1ms to 1d",
        ),
        ("timeout = \"1s\"", "", "only kind = \"ssh\" has machines"),
    ] {
        let said = said(topology, more);
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

#[test]
fn phases_are_rates_one_after_another_and_the_highest_is_the_cases() {
    let text =
        "[[test]]\nphases = [{ rate = 1, for = \"3s\" }, { rate = 131, for = \"2s\" }]\npath = \"/\"\n";
    let case = load(text).unwrap().cases.remove(0);
    let phases: Vec<_> = case.phases.iter().map(|(per_s, lasts)| (*per_s, lasts.0)).collect();
    assert_eq!(phases, [(1.0, 3_000), (131.0, 2_000)]);
    assert_eq!(case.demand, Demand::Rate { per_s: 131.0, poisson: false, calls: None });
    let quick = format!("{text}[quick]\nphases = {{ rate = 7, for = \"1s\" }}\n");
    let (full, quick) = (load(&quick).unwrap(), load_as(&quick, true).unwrap());
    assert_eq!((full.cases[0].phases.len(), quick.cases[0].phases.len()), (2, 1));
    assert_eq!(quick.cases[0].demand, Demand::Rate { per_s: 7.0, poisson: false, calls: None });
    let none = text.replace("131", "0").replace("rate = 1,", "rate = 0,");
    assert!(load(&none).unwrap_err().contains("not one request"));
    assert!(load(&format!("{text}rate = 5\n")).unwrap_err().contains("there are phases"));
}

#[test]
fn a_share_that_is_answered_has_a_margin_of_its_own() {
    use crate::lab::Measure;
    let scenario = load(&format!("margin = 0.2\n{SMALL}")).unwrap();
    assert_eq!((scenario.margin_of(Measure::Mean), scenario.margin_of(Measure::Answered)), (0.2, 0.001));
    let strict = load(&format!("margin = 0\n{SMALL}")).unwrap();
    assert_eq!((strict.margin_of(Measure::Mean), strict.margin_of(Measure::Answered)), (0.0, 0.0));
    assert!(load(&format!("margin = 5\n{SMALL}")).unwrap_err().contains("out of range"));
}

#[test]
fn what_is_published_of_another_load_than_that_of_a_quick_form_says_so() {
    let text = format!(
        "{SMALL}[[test]]\nname = \"b\"\nrate = 5\nsize = \"1KiB\"\n\
         [[published]]\ntest = \"1\"\nmeasure = \"mean\"\nvalues = {{ x = 1 }}\n\
         [[published]]\ntest = \"b\"\nmeasure = \"rate\"\npercent = true\nvalues = {{ x = 100 }}\n\
         [quick]\nrate = 2\nduration = \"1s\"\n"
    );
    let names = |quick| {
        let published = load_as(&text, quick).unwrap().published;
        published.into_iter().map(|one| (one.values[0].0.clone(), one.is_percent)).collect::<Vec<_>>()
    };
    assert_eq!(names(false), [("x".to_owned(), false), ("x".to_owned(), true)]);
    // The quick form of case 1 has the same load, only for a shorter time.
    assert_eq!(names(true), [("x".to_owned(), false), ("x, of the full form".to_owned(), true)]);
}

#[test]
fn every_key_of_the_lab_is_read() {
    EVERY_KEY.split("# ---\n").for_each(|part| drop(load(part).unwrap_or_else(|errors| panic!("{errors}"))));
    let read = keys_read::all();
    let mut known = BTreeSet::new();
    every_key::collect(lab::root(), &mut known);
    let ignored: Vec<_> = known.difference(&read).collect();
    assert!(ignored.is_empty(), "in the tables of keys, but never read: {ignored:?}");
}

#[test]
fn every_default_and_every_example_of_the_lab_is_a_value_of_its_key() {
    assert!(every_key::values_are_right(lab::root()) > 60);
}

#[test]
fn what_is_wrong_is_shown_at_once_with_line_caret_and_suggestion() {
    insta::assert_snapshot!(golden(
        r#"
rivals = ["weir", "haproxi", "none"]
algorithms = "source"
repeat = 3

[servers]
delay = "200"

[[test]]
rate = 0
size = "1MB"

[[test]]
conections = 10
path = "x"
"#
    ));
}

#[test]
fn servers_of_files_may_be_apache_with_tls_and_are_only_read() {
    let head =
        "servers = { kind = \"apache\", program = \"/usr/sbin/httpd\" }\nbalancer = { tls-out = true }\n";
    let scenario = load(&format!("{head}{SMALL}")).unwrap();
    assert_eq!(scenario.servers.kind, ServerKind::Apache);
    let said = load(&format!("{head}{SMALL}method = \"PUT\"\n")).unwrap_err();
    assert!(said.contains("servers of kind \"apache\" answer GET and HEAD, and not PUT"), "{said}");
}

#[test]
fn unequal_servers_have_weights_delays_and_concurrency_in_turn() {
    let unequal = "servers = { weights = [3, 1], delay = [\"10ms\", \"30ms\"], concurrency = [8, 4, 2] }\n";
    let servers = load(&format!("{unequal}{SMALL}")).unwrap().servers;
    assert_eq!(servers.weights(3), [3, 1, 3]);
    let of = |at| (servers.delay(at).0, servers.concurrency(at));
    assert_eq!([0, 1, 2, 3].map(of), [(10, Some(8)), (30, Some(4)), (10, Some(2)), (30, Some(8))]);
    assert_eq!((servers.delay_min(4).0, servers.delay_min(0).0), (10, 0));
    let alike = load(&format!("servers = {{ delay = \"5ms\" }}\n{SMALL}")).unwrap().servers;
    assert_eq!((alike.weights(3), alike.delay(2).0, alike.concurrency(2)), (vec![], 5, None));
    for (text, wanted) in [
        ("servers = { weights = [257] }", "257"),
        ("servers = { weights = [] }", "weights: there is none"),
        ("servers = { delay = [\"1s\", \"soon\"] }", "soon"),
        ("servers = { delay = \"0s\", concurrency = 2 }", "without a `delay`"),
        ("rivals = \"sozu\"\nservers = { weights = [2, 1] }", "sozu has no weights for least-connections"),
        (
            "rivals = \"pound\"\nalgorithms = \"round-robin\"\nservers = { weights = [10, 1] }",
            "pound has weights up to 9 for round-robin",
        ),
        (
            "rivals = { product = \"weir\", fleet = { max = 3, capacity = 10 } }\nservers = { weights = [2, 1] }",
            "servers of a fleet are all alike",
        ),
    ] {
        let said = load(&format!("{text}\n{SMALL}")).unwrap_err();
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

#[test]
fn what_does_not_fit_together_is_told() {
    insta::assert_snapshot!(golden(
        r#"
rivals = ["weir", "weir", "apache"]
algorithms = ["random", "random"]
judge = []
topology = { server-rate = 1000 }

[servers]
kind = "nginx"
delay = "1s"
arguments = ["x"]

[balancer]
check = "health"

[[test]]
name = "a"
rate = 5
connections = 10
method = "PUT"
path = "/x"

[[test]]
name = "a"
connections = 1
calls = 3
mix = "GET"

[[published]]
test = "b"
measure = "mean"
values = { weir = 1 }

[quick]
tests = ["c"]
"#
    ));
    insta::assert_snapshot!(golden(
        "rivals = []\ntest = []\nbalancer = { tls-out = true }\nservers = { kind = \"command\" }\nrepeats = 1000\n"
    ));
}

#[test]
fn nonsense_is_an_error_and_not_a_panic() {
    for text in [
        "",
        "[",
        "rivals = 1",
        "[[test]]",
        "test = [[1]]",
        "published = 7",
        "[[test]]\nrate = 1e999\npath = \"/\"",
    ] {
        assert!(load(text).is_err() && load_as(text, true).is_err(), "{text}");
    }
}

#[test]
fn a_complaint_while_playing_points_at_the_line() {
    let text = format!("{SMALL}[balancer]\nport = 80\n");
    let source = Source::new("scenario.toml", text.clone());
    let mark = load(&text).unwrap().balancer.port_mark.unwrap();
    let said = lab::complaint(&source, mark, crate::Severity::Error, "port 80 is taken".to_owned());
    assert_eq!((said.places[0].line, said.message.as_str()), (5, "port 80 is taken"));
}

#[test]
fn examples_of_guide_and_reference_are_scenarios() {
    let guide = include_str!("../../../../docs/guide/lab.md");
    for page in [guide, lab::reference().as_str()] {
        let examples: Vec<&str> = page.split("```toml lab\n").skip(1).collect();
        assert_eq!(examples.len(), 1);
        load(examples[0].split("```").next().unwrap()).unwrap_or_else(|errors| panic!("{errors}"));
    }
}
