//! Tests the example config.

use super::load_text;
use crate::print;

const EXAMPLE: &str = r#"
[listener.web]
bind = "0.0.0.0:80"
pool = "web"

[pool.web]
balance = "least-connections"
check = { http = "GET /health", interval = "2s", rise = 2, fall = 3 }   # or just check = "GET /health"
servers = ["10.0.0.11:8080", { address = "10.0.0.12:8080", weight = 2 }, { name = "spare", address = "10.0.0.13:8080", backup = true }]
"#;

#[test]
fn a_small_config_gets_every_default() {
    let loaded = load_text(EXAMPLE).unwrap();
    insta::assert_snapshot!(print(&loaded.plan));
    assert_eq!(loaded.warnings, []);
}

#[test]
fn the_short_form_of_a_check_means_the_same() {
    let short = EXAMPLE
        .replace("{ http = \"GET /health\", interval = \"2s\", rise = 2, fall = 3 }", "\"GET /health\"");
    assert_eq!(load_text(&short).unwrap().plan, load_text(EXAMPLE).unwrap().plan);
}
