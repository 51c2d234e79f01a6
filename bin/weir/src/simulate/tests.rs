//! Tests the options, the import of pools and the output of `weir simulate`.

use std::fs;

use clap::Parser;
use weir_balance::Algorithm;
use weir_config::plan::{WhenBusy, WhenGone};
use weir_config::simulation::{
    AgentWord, Arrivals, Disturbance, Failure, Group, Measure, Population, SimKey, SimTime, StickySessions,
    Volume,
};
use weir_model::Weight;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: SimulateArgs,
}

fn arguments(words: &[&str]) -> Result<SimulateArgs, String> {
    let words = ["simulate"].iter().chain(words);
    Cli::try_parse_from(words).map(|cli| cli.args).map_err(|cause| cause.to_string())
}

fn scenario(words: &[&str], mut scenario: Scenario) -> Result<Scenario, String> {
    arguments(words)?.override_in(&mut scenario).map(|()| scenario)
}

#[test]
fn options_go_before_the_scenario() {
    let words =
        ["--servers", "3", "--concurrency", "4", "--load", "0.5", "--service", "2ms", "--requests", "500"];
    let more = [
        "--algorithms",
        "ring,random,ring",
        "--rank-by",
        "p50",
        "--workers",
        "2",
        "--seed",
        "9",
        "--seeds",
        "2",
    ];
    let got = scenario(&[&words[..], &more].concat(), Scenario::default()).unwrap();
    assert_eq!((got.groups[0].count, got.groups[0].concurrency), (3, 4));
    assert!(matches!(got.arrivals, Arrivals::Drawn { volume: Volume::Load(0.5), .. }));
    assert_eq!(got.service.mean, SimTime(2_000_000));
    assert_eq!((got.requests, got.warm_up), (Some(500), 50));
    assert_eq!(got.algorithms, [Algorithm::Ring, Algorithm::Random]);
    assert_eq!((got.rank_by, got.balancer.workers, got.seed, got.seeds), (Measure::P50, 2, 9, 2));
}

#[test]
fn a_replay_reads_the_whole_log_unless_told_otherwise() {
    let got = scenario(&["--replay", "x.log"], Scenario::default()).unwrap();
    assert_eq!((got.requests, got.warm_up), (None, 0));
    let got = scenario(&["--replay", "x.log", "--requests", "70"], Scenario::default()).unwrap();
    assert_eq!((got.requests, got.warm_up), (Some(70), 0));
    assert!(scenario(&["--load", "1"], got).unwrap_err().contains("replays a log"));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let refused: [(&[&str], &str); 7] = [
        (&["--load", "0"], "out of range"),
        (&["--load", "nan"], "out of range"),
        (&["--load", "1", "--rate", "5"], "cannot be used with"),
        (&["--service", "0"], "more than 0"),
        (&["--service", "5"], "such as"),
        (&["--algorithms", "best"], "unknown algorithm"),
        (&["--rank-by", "p90"], "one of mean, p50"),
    ];
    for (words, cause) in refused {
        let error = arguments(words).unwrap_err();
        assert!(error.contains(cause), "{words:?}: {error}");
    }
    let two = Scenario { groups: vec![Group::default(); 2], ..Scenario::default() };
    assert!(scenario(&["--servers", "5"], two).unwrap_err().contains("several groups"));
    let word = AgentWord { at: SimTime(1), servers: 3, says: "drain".to_owned() };
    let spoken = Group { count: 3, agent: vec![word], ..Group::default() };
    let spoken = Scenario { groups: vec![spoken], ..Scenario::default() };
    assert!(scenario(&["--servers", "1"], spoken.clone()).unwrap_err().contains("agents"));
    assert!(scenario(&["--servers", "3"], spoken).is_ok());
    let warm = Scenario { requests: None, warm_up: 100, ..Scenario::default() };
    assert!(scenario(&["--replay", "x"], warm).is_ok());
}

const CONFIG: &str = r#"
[listener.web]
bind = "127.0.0.1:0"
pool = "web"

[pool.web]
balance = "round-robin"
check = { http = "GET /", interval = "2s", fast-interval = "1s", rise = 2, fall = 3 }
retry = { attempts = 1 }
timeouts = { queue = "250ms" }
servers = [
    { name = "big", address = "10.0.0.1:80", weight = 4, max-connections = 50 },
    "10.0.0.2:80",
    { name = "spare", address = "10.0.0.3:80", backup = true },
]

[pool.empty]
"#;

fn with_config(text: &str, pool: Option<&str>) -> Result<Scenario, String> {
    with_config_and(text, pool, false)
}

fn with_config_and(text: &str, pool: Option<&str>, replays: bool) -> Result<Scenario, String> {
    let fail = Disturbance::Fail(Failure { at: SimTime(1), lasts: SimTime(2), servers: 2 });
    let like = Group { concurrency: 8, disturbances: vec![fail], ..Group::default() };
    let scenario = Scenario { groups: vec![like], ..Scenario::default() };
    joined(scenario, text, pool, replays)
}

/// Returns a scenario to which a pool of this config was applied.
fn joined(mut scenario: Scenario, text: &str, pool: Option<&str>, replays: bool) -> Result<Scenario, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weir.toml");
    fs::write(&path, text).unwrap();
    from_config::apply(&mut scenario, &path, pool, replays).map(|()| scenario)
}

#[test]
fn a_pool_of_a_config_brings_its_servers_and_its_algorithm() {
    let got = with_config(CONFIG, Some("web")).unwrap();
    let told: Vec<_> = got
        .groups
        .iter()
        .map(|group| {
            (group.name.as_str(), group.weight.get(), group.backup, group.connections_max, group.concurrency)
        })
        .collect();
    assert_eq!(
        told,
        [("big", 4, false, Some(50), 8), ("10.0.0.2:80", 1, false, None, 8), ("spare", 1, true, None, 8)]
    );
    assert_eq!(got.groups[0].weight, Weight::new(4).unwrap());
    let failing: Vec<usize> = got.groups.iter().map(|group| group.disturbances.len()).collect();
    assert_eq!(failing, [1, 1, 0], "the first two");
    assert_eq!(got.in_use, Some(Algorithm::RoundRobin));
    assert_eq!(got.pool.left_out, Vec::<&str>::new());
    assert_eq!((got.balancer.retries, got.balancer.queue), (1, SimTime(250_000_000)));
    assert_eq!(
        (got.balancer.down_after, got.balancer.up_after),
        (SimTime(4_000_000_000), SimTime(3_000_000_000))
    );
}

#[test]
fn a_pool_brings_what_it_says_of_choosing_and_tells_what_is_left_out() {
    let text = r#"
[listener.web]
bind = "127.0.0.1:0"
pool = "web"

[pool.web]
balance = { algorithm = "ring", bounded-load = "150%" }
zone = "a"
min-healthy = "40%"
sticky = { source = true, size = 500, expire = "20m", when-gone = "fail", when-busy = "redispatch" }
slow-start = "30s"
max-connections = 50
queue = { max-length = 7, max-per-server = 3, fair = "client" }
concurrency = {}
breaker = { errors = "30%" }
hedge = false
agent = { port = 9999 }
servers = [
    { address = "10.0.0.1:80", zone = "a" },
    { address = "10.0.0.2:80", zone = "b", priority = 3 },
]
"#;
    let got = with_config(text, None).unwrap();
    assert_eq!(got.scheduling(Algorithm::Ring).hash.bounded_load_percent, Some(150));
    assert_eq!(got.scheduling(Algorithm::Random).hash.bounded_load_percent, None);
    for algorithm in [Algorithm::Ring, Algorithm::Random] {
        let membership = got.scheduling(algorithm).membership;
        assert_eq!(
            (membership.min_healthy_percent, membership.zones.map(|rule| rule.stay_percent)),
            (40, Some(70))
        );
    }
    let places: Vec<_> = got.groups.iter().map(|group| (group.priority, group.is_remote)).collect();
    assert_eq!(places, [(0, false), (3, true)]);
    assert_eq!(got.pool.left_out, ["what agents say (a scenario says it in agent)"]);
    assert_eq!(got.balancer.breaker.unwrap().error_percent, 30);
    assert_eq!(got.balancer.ejection.unwrap().consecutive_failures, 5);
    assert_eq!(
        got.balancer.sticky,
        Some(StickySessions {
            size: 500,
            expire: SimTime(1_200_000_000_000),
            life_max: None,
            when_gone: WhenGone::Fail,
            when_busy: WhenBusy::Redispatch,
        })
    );
    let slow_start = got.balancer.slow_start.unwrap();
    assert_eq!((slow_start.window.0, slow_start.min_percent), (30_000, 10));
    assert_eq!((got.balancer.connections_max, got.balancer.queue_length_max), (Some(50), Some(7)));
    assert_eq!(got.balancer.server_queue_max, Some(3));
    assert!(got.balancer.is_fair && got.balancer.concurrency.is_some());
}

#[test]
fn priorities_of_routes_are_told_unless_the_scenario_says_how_many_have_them() {
    let text = "[listener.web]\nbind = \"127.0.0.1:0\"\n[pool.web]\ncheck = \"tcp\"\nmax-connections = 5\nservers = \"10.0.0.1:80\"\n\
                [pool.other]\ncheck = \"tcp\"\nservers = \"10.0.0.2:80\"\n\
                [[route]]\nlistener = \"web\"\npath = \"/pay/\"\npool = \"web\"\npriority = -5\n\
                [[route]]\nlistener = \"web\"\npool = \"other\"\n";
    let told = "the priority of routes (a scenario says in priorities how many requests have which)";
    assert_eq!(with_config(text, Some("web")).unwrap().pool.left_out, [told]);
    assert!(with_config(text, Some("other")).unwrap().pool.left_out.is_empty());
}

#[test]
fn second_tries_come_with_the_budget_of_retries() {
    let text = "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n[pool.web]\ncheck = \"tcp\"\nhedge = { delay = \"70ms\" }\n\
                retry = { budget = \"5%\", min-per-second = 3, at-once = \"20%\" }\nservers = [\"10.0.0.1:80\", \"10.0.0.2:80\"]\n";
    let got = with_config(text, None).unwrap();
    assert_eq!(got.balancer.hedge.unwrap().delay.unwrap().0, 70);
    let budget = got.balancer.retry_budget.unwrap();
    assert_eq!((budget.percent, budget.per_second, got.balancer.retries_lost), (5, 3, true));
    assert_eq!(budget.at_once.map(|rule| (rule.percent, rule.min)), Some((20, 3)));
    assert!(got.pool.left_out.is_empty(), "{:?}", got.pool.left_out);
}

#[test]
fn weights_that_are_found_come_with_their_rule() {
    let text = "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n[pool.web]\ncheck = \"tcp\"\nauto-weight = { interval = \"2m\", max = 64 }\n\
                servers = [{ address = \"10.0.0.1:80\", weight = \"auto\", processor = \"150%\" }, \"10.0.0.2:80\"]\n";
    let got = with_config(text, None).unwrap();
    let speeds: Vec<_> =
        got.groups.iter().map(|group| group.auto_weight.map(|known| known.processor)).collect();
    assert_eq!(speeds, [Some(Some(weir_balance::Hundredths(150))), None]);
    assert_eq!((got.balancer.auto_weight.interval.0, got.balancer.auto_weight.rule.max.get()), (120_000, 64));
    assert_eq!(
        got.pool.left_out,
        ["auto-weight.static (a scenario says in service how many requests make servers fetch)"]
    );
    // A log contains the requested paths.
    let replayed = with_config_and(text, None, true).unwrap();
    assert!(replayed.pool.left_out.is_empty() && !replayed.pool.static_paths.is_empty());
}

#[test]
fn cookies_are_never_forgotten_and_sessions_that_are_no_clients_are_told() {
    let of = |sticky: &str| {
        let text = format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n[pool.web]\ncheck = \"tcp\"\nservers = \"10.0.0.1:80\"\nsticky = {sticky}\n"
        );
        with_config(&text, None).unwrap()
    };
    let sessions = "the sessions of sticky (each client stands for one)";
    for (sticky, told) in [
        ("{ cookie = \"SRV\" }", vec![]),
        ("{ cookie = \"SRV\", max-life = \"8h\" }", vec![]),
        ("{ source = true }", vec![]),
        ("{ source = { ipv4-prefix = 24 } }", vec![sessions]),
        ("{ expression = \"path\" }", vec![sessions]),
    ] {
        assert_eq!(of(sticky).pool.left_out, told, "{sticky}");
    }
    let carried = of("{ cookie = \"SRV\" }").balancer.sticky.unwrap();
    assert_eq!((carried.size, carried.expire), (16_000_000, SimTime::MAX));
    let idle = of("{ cookie = \"SRV\", max-idle = \"10m\" }").balancer.sticky.unwrap();
    assert_eq!((idle.expire, idle.life_max), (SimTime(600_000_000_000), None));
    let ends = of("{ cookie = \"SRV\", max-life = \"8h\" }").balancer.sticky.unwrap();
    assert_eq!(ends.life_max, Some(SimTime(28_800_000_000_000)));
}

#[test]
fn where_a_scenario_has_values_they_are_what_a_pools_key_is_made_of() {
    let values = Some(Population { count: 200, zipf: 1.0 });
    let of = |key: &str| {
        let text = format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n[pool.web]\nservers = \"10.0.0.1:80\"\ncheck = \"tcp\"\n\
             balance = {{ algorithm = \"ring\", key = {key} }}\n"
        );
        joined(Scenario { values, ..Scenario::default() }, &text, None, false).unwrap()
    };
    for (key, stands_for) in [
        ("\"header X-Tenant\"", SimKey::Value),
        ("\"host\"", SimKey::Value),
        ("\"cookie session\"", SimKey::Value),
        ("{ expression = \"path\" }", SimKey::Value),
        ("\"uri\"", SimKey::Uri),
        ("\"source\"", SimKey::Client),
    ] {
        let got = of(key);
        assert_eq!((got.balancer.key, got.pool.left_out.len()), (stands_for, 0), "{key}");
    }
}

#[test]
fn keys_that_simulated_requests_do_not_have_and_checks_that_are_missing_are_told() {
    let of = |keys: &str| {
        let text = format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n[pool.web]\nservers = \"10.0.0.1:80\"\n{keys}\n"
        );
        with_config(&text, None).unwrap()
    };
    let key =
        "the key (each client stands for one value of it; a scenario says in values how many there are)";
    for (written, is_told) in [
        ("header X-Tenant", true),
        ("host", true),
        ("cookie session", true),
        ("url-param user", true),
        ("uri", false),
        ("source", false),
    ] {
        let got = of(&format!("check = \"tcp\"\nbalance = {{ algorithm = \"ring\", key = \"{written}\" }}"));
        assert_eq!(got.pool.left_out.contains(&key), is_told, "{written}");
        assert_eq!(got.pool.left_out.len(), usize::from(is_told), "{written}");
    }
    let worked_out = "check = \"tcp\"\nbalance = { algorithm = \"hash\", key = { expression = \"path\" } }";
    assert_eq!(of(worked_out).pool.left_out, [key]);
    for (keys, ejects) in [("", true), ("eject = false", false)] {
        let unchecked = of(keys);
        assert_eq!((unchecked.pool.left_out.len(), unchecked.balancer.down_after), (0, SimTime::MAX));
        assert_eq!(unchecked.balancer.ejection.is_some(), ejects);
    }
}

#[test]
fn a_pool_that_cannot_be_simulated_is_told_by_name() {
    let error = |pool| with_config(CONFIG, pool).unwrap_err();
    assert!(
        error(None).ends_with("which pool? --pool with one of empty, web")
            || error(None).ends_with("web, empty")
    );
    assert!(error(Some("wbe")).contains("there is no pool wbe"));
    assert!(error(Some("empty")).ends_with("pool empty has no servers"));
    assert!(with_config("[pool.x]\nbalanec = 1\n", None).unwrap_err().ends_with("the config is wrong"));
}

#[test]
fn the_terminal_gets_a_ranked_table_and_the_verdict() {
    let words =
        ["--algorithms", "least-connections,round-robin,maglev", "--requests", "5000", "--seeds", "2"];
    let report = simulate(&arguments(&words).unwrap()).unwrap();
    insta::assert_snapshot!(table::render(&report, Style::Plain));
}

#[test]
fn threads_change_nothing() {
    let text = |threads: &str| {
        let words = ["--requests", "2000", "--seeds", "2", "--threads", threads];
        serde_json::to_string(&simulate(&arguments(&words).unwrap()).unwrap()).unwrap()
    };
    assert_eq!(text("1"), text("3"));
}

#[test]
fn a_log_that_is_not_there_and_one_that_is_none_are_told_with_their_names() {
    let error = |path: &str| simulate(&arguments(&["--replay", path]).unwrap()).unwrap_err();
    assert!(
        error("/nowhere/access.log").starts_with("/nowhere/access.log: No such file"),
        "{}",
        error("/nowhere/x")
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    fs::write(&path, "arrival_s\n1\noops\n").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(error(path), format!("{path}: line 3: \"oops\" is no number"));
    fs::write(path, "").unwrap();
    assert!(error(path).contains("nothing was measured"), "{}", error(path));
}
