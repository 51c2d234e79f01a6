//! Tests that displayed plans contain no secrets.

use super::source;
use crate::{Outside, load_with, print};

const CONFIG: &str = r#"
[listener.web]
bind = ":80"

[[route]]
name = "a"
header = { X-Api-Key = "plain-key", X-Tenant = "${TENANT}", X-Site = "main", Authorization = { contains = "Basic abc" } }
when = "headers[?'x-auth-token'].orValue('') == 'plain-token'"
pool = "web"
request-headers = { set = { Authorization = "Bearer ${TOKEN}", X-Site = "${SITE}", X-Role = "guest", X-Client-Key = "{client_ip}" }, add = { Cookie = ["a=plain-cookie"] } }

[[route]]
name = "b"
redirect = "https://${HOST}/"

[pool.web]
servers = "a:80"
agent = { port = 9, send = "${AGENT}" }
check = { http = "/health", headers = { Authorization = "Basic plain-basic", X-Probe = "yes" } }

[fleet.jobs]
pool = "jobs"
process = { command = ["serve", "--key=${KEY}"], environment = { API_TOKEN = "plain-environment", LANG = "C" } }
max = 5
capacity = 10

[pool.jobs]
check = "tcp"
"#;

#[test]
fn a_plan_that_is_shown_has_no_secrets() {
    let env = |name: &str| Some(format!("secret-{}", name.to_lowercase()));
    let loaded =
        load_with(&[source("weir.toml", CONFIG)], Outside { env: &env, file: &|_| Err(String::new()) });
    let loaded = loaded.unwrap_or_else(|errors| panic!("{errors:?}"));
    let shown = loaded.secrets().mask(&loaded.plan);
    for text in [print(&shown), serde_json::to_string(&shown).unwrap()] {
        let leaks: Vec<_> = text
            .match_indices("secret-")
            .chain(text.match_indices("plain-"))
            .map(|(at, _)| &text[at..text.len().min(at + 20)])
            .collect();
        assert_eq!(
            leaks,
            ["secret-host/"].map(|place| leaks.iter().copied().find(|leak| leak.starts_with(place)).unwrap()),
            "{text}"
        );
        for kept in ["guest", "{client_ip}", "yes", "main", "LANG"] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }
    assert!(print(&loaded.plan).contains("Bearer secret-token"), "the plan itself is whole");
}
