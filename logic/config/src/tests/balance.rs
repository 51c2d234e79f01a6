//! Tests `balance`: the algorithm, its key and its options.

use weir_balance::Algorithm;
use weir_http::RequestKey;

use super::print::assert_round_trip;
use super::{complaints, load_text, messages};
use crate::plan::{KeyPlan, PoolPlan};

fn config(mode: &str, balance: &str) -> String {
    format!(
        "[listener.web]\nbind = \":80\"\nmode = \"{mode}\"\npool = \"web\"\n\n[pool.web]\nbalance = {balance}\nservers = \"10.0.0.1:80\"\n"
    )
}

fn pool(balance: &str) -> PoolPlan {
    let loaded = load_text(&config("http", balance)).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let other = |warning: &&crate::Diagnostic| !warning.message.contains("one and the same for all requests");
    assert_eq!(loaded.warnings.iter().find(other), None);
    loaded.plan.pools.into_iter().next().unwrap()
}

#[test]
fn a_name_alone_is_the_table_with_nothing_else() {
    let keyless = |algorithm: &Algorithm| !crate::pool::balance::read::needs_key(*algorithm);
    for algorithm in Algorithm::ALL.into_iter().filter(keyless) {
        let short = pool(&format!("\"{algorithm}\""));
        assert_eq!(short, pool(&format!("{{ algorithm = \"{algorithm}\" }}")));
        assert_eq!(short.algorithm, algorithm);
        assert!(!short.hash.key.needs_http() && !short.hash.key.needs_tcp());
    }
    assert!(pool("\"ring\"").hash.options.avalanche && !pool("\"source\"").hash.options.avalanche);
}

#[test]
fn a_hash_of_nothing_in_particular_is_an_error() {
    let wrong = |balance: &str| complaints(&config("http", balance));
    let all: String = [
        "\"hash\"",
        "\"nginx-hash\"",
        "{ algorithm = \"ketama\" }",
        "{ algorithm = \"hash\", avalanche = true }",
    ]
    .map(wrong)
    .concat();
    insta::assert_snapshot!(all);
    for algorithm in ["hash", "nginx-hash", "ketama"] {
        assert_round_trip(&config("tcp", &format!("{{ algorithm = \"{algorithm}\", key = \"source\" }}")));
    }
}

#[test]
fn the_size_of_a_table_is_a_prime_number_and_large_enough_for_its_servers() {
    assert_round_trip(&config("http", "{ algorithm = \"maglev\", table-size = 655373 }"));
    let many = |count: u32, balance: &str| {
        let servers: Vec<_> = (0..count).map(|n| format!("\"10.0.{}.{}:80\"", n / 250, n % 250)).collect();
        complaints(&config("http", balance).replace("\"10.0.0.1:80\"", &format!("[{}]", servers.join(", "))))
    };
    assert_eq!(many(655, "\"maglev\""), "");
    let wrong = |size: &str| {
        complaints(&config("http", &format!("{{ algorithm = \"maglev\", table-size = {size} }}")))
    };
    let few = many(656, "\"maglev\"");
    // Leaves out the long list of servers.
    let is_telling = |line: &&str| ["maglev", " places ", "help"].iter().any(|word| line.contains(word));
    let told: Vec<_> = few.lines().filter(is_telling).collect();
    let unequal = config("http", "{ algorithm = \"maglev\", key = \"uri\" }").replace(
        "\"10.0.0.1:80\"",
        "[\"10.0.0.1:80\", { address = \"10.0.0.2:80\", weight = 256 }, { address = \"10.0.0.3:80\", weight = 256 }, { address = \"10.0.0.4:80\", weight = 256 }]",
    );
    assert!(messages(&unequal)[0].contains("the lightest of 4 servers"), "{:?}", messages(&unequal));
    insta::assert_snapshot!(
        [&wrong("100000"), &wrong("5000011"), &wrong("100"), &told.join("\n")].map(String::as_str).concat()
    );
}

#[test]
fn shares_that_a_table_or_buckets_cannot_give_are_told_with_what_gives_better_ones() {
    let told = |balance: &str, servers: u32, heaviest: u32| {
        let one = |n: u32| {
            let weight = if n == 0 { 1 } else { heaviest };
            format!("{{ address = \"10.0.{}.{}:80\", weight = {weight} }}", n / 250, n % 250)
        };
        let servers: Vec<_> = (0..servers).map(one).collect();
        let text = config("http", balance).replace("\"10.0.0.1:80\"", &format!("[{}]", servers.join(", ")));
        let text = complaints(&text);
        // Leaves out the long list of servers.
        text.lines()
            .filter(|line| line.contains("warning") || line.contains("help"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    assert_eq!(told("\"rendezvous\"", 1_310, 1), "");
    assert_eq!(told("\"ring\"", 1_311, 1), "");
    let largest = "{ algorithm = \"maglev\", table-size = 5000011 }";
    let all = [
        told("\"rendezvous\"", 1_311, 1),
        told("\"rendezvous\"", 10_000, 1),
        told("\"rendezvous\"", 1_000, 256),
        told("\"maglev\"", 10_000, 1),
        told("\"maglev\"", 1_000, 256),
        told(largest, 10_000, 1),
        told(largest, 1_000, 256),
    ];
    insta::assert_snapshot!(all.concat());
}

#[test]
fn every_kind_of_key_is_read_and_printed() {
    for key in [
        "\"source\"",
        "\"destination\"",
        "\"uri\"",
        "\"host\"",
        "\"path\"",
        "\"url-param id\"",
        "\"header  X-Tenant\"",
        "\"cookie session\"",
        "{ expression = \"host + path\" }",
    ] {
        assert_round_trip(&config("http", &format!("{{ algorithm = \"hash\", key = {key} }}")));
    }
    for key in ["\"rdp-cookie\"", "\"rdp-cookie msts\"", "\"source\"", "\"destination\""] {
        assert_round_trip(&config("tcp", &format!("{{ algorithm = \"ring\", key = {key} }}")));
    }
    let cookie = pool("{ algorithm = \"hash\", key = \"cookie session\" }").hash.key;
    assert_eq!(cookie, KeyPlan::Request(RequestKey::Cookie("session".to_owned())));
}

#[test]
fn a_key_that_is_none_is_told_what_there_is() {
    let wrong = |key: &str| complaints(&config("http", &format!("{{ algorithm = \"hash\", key = {key} }}")));
    let all: String = [
        "\"hdr X-Tenant\"",
        "\"header\"",
        "\"header a b\"",
        "\"header é\"",
        "\"uri x\"",
        "\"sourc\"",
        "\"\"",
        "{ expression = \"path +\" }",
        "{}",
        "5",
    ]
    .map(wrong)
    .concat();
    insta::assert_snapshot!(all);
}

#[test]
fn options_that_do_nothing_are_errors() {
    let wrong = |balance: &str| messages(&config("http", &format!("{{ {balance} }}"))).join("\n");
    let all = [
        "algorithm = \"source\", key = \"uri\"",
        "algorithm = \"nginx-ip-hash\", key = \"uri\"",
        "algorithm = \"round-robin\", key = \"uri\"",
        "algorithm = \"hash\", key = \"host\", len = 5, depth = 1, whole = true, path-only = true",
        "algorithm = \"hash\", key = \"uri\", use-domain-only = true",
        "algorithm = \"hash\", function = \"crc32\"",
        "algorithm = \"ketama\", key = \"uri\", function = \"crc32\", avalanche = true",
        "algorithm = \"hash\", key = \"uri\", function = \"md5\"",
        "algorithm = \"maglev\", bounded-load = \"150%\"",
        "algorithm = \"maglev\", points = \"position\"",
        "algorithm = \"ring\", table-size = 655373",
        "algorithm = \"ring\", points = \"order\"",
        "algorithm = \"ring\", bounded-load = \"90%\"",
        "algorithm = \"ring\", bounded-load = 150",
        "algorithm = \"ketama\", key = \"uri\", fallback = false",
        "algorithm = \"ring\", bounded-load = \"150%\", fallback = false",
        "algorithm = \"ipvs-dh\", port = true",
        "algorithm = \"ipvs-sh\", key = \"uri\", port = true",
        "algorithm = \"ring\", expiration = \"1h\"",
        "algorithm = \"random\", drawn = 2",
        "algorithm = \"least-request\", distinct = true",
        "algorithm = \"least-response-time\", drawn = 1",
        "algorithm = \"hsah\", key = \"uri\"",
        "key = \"uri\"",
    ]
    .map(wrong)
    .join("\n");
    insta::assert_snapshot!(all);
}

#[test]
fn a_pool_and_those_who_refer_to_it_must_speak_alike() {
    insta::assert_snapshot!(
        [
            complaints(&config("tcp", "{ algorithm = \"hash\", key = \"uri\" }")),
            complaints(&config("http", "{ algorithm = \"hash\", key = \"rdp-cookie\" }")),
        ]
        .concat()
    );
    let sni = "[listener.a]\nbind = \":1\"\nmode = \"tcp\"\nsni = { host = \"x.org\", pool = \"web\" }\n\
               [pool.web]\nbalance = { algorithm = \"ring\", key = \"host\" }\nservers = \"a:1\"\n";
    assert_eq!(
        messages(sni),
        ["listener a: sni: pool web chooses by a part of HTTP requests, and a TCP listener sees none"]
    );
}

#[test]
fn one_key_for_all_requests_is_doubtful() {
    let told = |mode: &str, balance: &str| {
        messages(&config(mode, balance))
            .iter()
            .any(|message| message.contains("one and the same for all requests"))
    };
    for algorithm in ["lblc", "lblcr", "ipvs-dh"] {
        assert!(told("http", &format!("\"{algorithm}\"")), "{algorithm}");
        assert!(told("http", &format!("{{ algorithm = \"{algorithm}\" }}")), "{algorithm}");
        assert!(!told("tcp", &format!("\"{algorithm}\"")), "{algorithm}");
        assert!(
            !told("http", &format!("{{ algorithm = \"{algorithm}\", key = \"destination\" }}")),
            "it is meant"
        );
        assert!(!told("http", &format!("{{ algorithm = \"{algorithm}\", key = \"host\" }}")));
    }
    assert!(!told("http", "\"ring\""));
}
