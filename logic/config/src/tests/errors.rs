//! Tests the messages about invalid configs.

use super::{complaints, load_text, messages, with};

/// Returns the input, a separator line and the output.
fn golden(text: &str) -> String {
    format!("{}\n---\n{}", text.trim_end(), complaints(text).trim_end())
}

#[test]
fn every_error_is_shown_at_once_with_line_caret_and_suggestion() {
    insta::assert_snapshot!(golden(
        r#"
[listener.web]
bind = "0.0.0.0:80:"
pol = "web"
backlog = "4096"
timeouts = { head = 10, idle = "60sec" }

[pool.web]
balance = "least-conn"
check = { http = "GET /health", intervall = "2s", rise = 0 }
servers = [
    "10.0.0.11",
    { address = "10.0.0.12:8080", weight = 1000 },
    { addres = "10.0.0.13:8080" },
]
retry = { budget = 20 }

[[route]]
host = "*example.org"
pool = "wbe"
"#
    ));
}

#[test]
fn syntax_errors_are_shown_before_anything_else() {
    insta::assert_snapshot!(golden(
        "[listener.web]\nbind = [\":80\"\npool = \"web\"\n\n[pool.web\nservers = 1"
    ));
}

#[test]
fn an_unquoted_value_is_told_to_have_quotes_and_the_rest_is_checked_all_the_same() {
    insta::assert_snapshot!(golden(&with("[pool.web.timeouts]\nconnect = 5s\nresponse = \"5 minutes\"")));
}

#[test]
fn a_key_twice_in_one_file_makes_no_further_errors() {
    insta::assert_snapshot!(golden(
        "[listener.web]\nbind = \":80\"\nbind = \":81\"\npool = \"web\"\n\n[pool.web]\nservers = \"a:80\"\n[pool.web]\n"
    ));
}

#[test]
fn names_of_other_balancers_are_understood_enough_to_help() {
    insta::assert_snapshot!(golden(
        "[frontend.web]\nbind = \":80\"\n\n[listener.web]\naddress = \":80\"\nbackend = \"web\"\n\n[pool.web]\nconnect = \"1s\"\nservers = \"a:80\"\n"
    ));
}

#[test]
fn references_to_nothing_say_what_there_is() {
    insta::assert_snapshot!(golden(
        r#"
[listener.web]
bind = ":80"
pool = "main"
[listener.mail]
bind = ":25"
mode = "tcp"
sni = [{ host = "a.example", pool = "mial" }]
[[route]]
listener = ["web", "wbe", "mail", "web"]
path = "/x"
pool = "web"
[pool.web]
servers = "a:80"
[pool.mail]
servers = "a:25"
"#
    ));
}

#[test]
fn duplicates_show_both_places() {
    insta::assert_snapshot!(golden(
        r#"
[listener.a]
bind = [":80", ":81"]
pool = "web"
[listener.b]
bind = ":80"
pool = "web"
[admin]
bind = ":81"
[[route]]
name = "x"
path = "/a"
pool = "web"
[[route]]
name = "x"
path = "/b"
pool = "web"
[pool.web]
servers = ["10.0.0.1:80", "10.0.0.1:80", { name = "w", address = "a:1" }, { name = "w", address = "b:1" }]
"#
    ));
}

#[test]
fn a_listener_must_lead_somewhere() {
    insta::assert_snapshot!(golden(
        "[listener.web]\nbind = \":80\"\n[listener.tcp]\nmode = \"tcp\"\nbind = \":81\"\n"
    ));
}

#[test]
fn what_is_missing_is_asked_for_with_an_example() {
    insta::assert_snapshot!(golden(
        "[listener.web]\npool = \"web\"\n[listener.web.tls]\nclient-auth = {}\n[pool.web]\nservers = [{ weight = 2 }]\n[[route]]\nhost = \"a\"\n"
    ));
    insta::assert_snapshot!("empty", golden(""));
}

#[test]
fn http_and_tcp_are_kept_apart() {
    insta::assert_snapshot!(golden(
        r#"
[listener.a]
bind = ":1"
mode = "tcp"
pool = "p"
limits = { headers = 5 }
forwarded = {}
timeouts = { idle = "5s", tunnel = "5m" }
[listener.b]
bind = ":2"
pool = "p"
sni = { host = "a", pool = "p" }
[pool.p]
servers = "a:1"
check = { tcp = true, host = "x", expect = {} }
"#
    ));
}

#[test]
fn conditions_and_header_rules_are_checked() {
    insta::assert_snapshot!(golden(&with(
        r#"
[[route]]
path = ["api", "/a b", "=/x?y=1", { exact = "/x", glob = "/y" }, {}]
host = ["example.org:80", "-", "*.", "http://a"]
method = ["GE T", "get"]
client = ["10.0.0.0/33", "localhost"]
header = { "X Y" = true, A = "b\r\nc", D = { contains = "e", exact = "f" } }
when = "path.startsWith("
pool = "web"
[route.request-headers]
set = { "Content-Length" = "5", X-A = "a\r\nX-B: c", X-C = "{clientip}", X-D = "{" }
add = { "é" = "x" }
remove = "Transfer-Encoding"
"#
    )));
}

#[test]
fn actions_are_checked() {
    insta::assert_snapshot!(golden(&with(
        r#"
[[route]]
path = "/a"
pool = "web"
redirect = "https://example.org/"
[[route]]
path = "/b"
redirect = { to = "a b", status = 304 }
[[route]]
path = "/c"
respond = 600
[[route]]
path = "/d"
respond = { status = 204, body = "x" }
[[route]]
path = "/e"
pool = "web"
rewrite = { prefix = "/e", path = "f" }
"#
    )));
}

#[test]
fn certificates_statuses_and_log_targets_are_checked() {
    insta::assert_snapshot!(golden(&with(
        r#"
[listener.tls]
bind = ":443"
pool = "web"
tls = { certificates = [], min-version = 1.3, ciphers = [5] }
[error-page.200]
body = "x"
[error-page.503]
[access-log]
to = "log.txt"
facility = "local9"
[resolver]
servers = ["dns.example", "10.0.0.1:0"]
min-ttl = "1h"
[pool.other]
servers = []
check = "GET health"
eject = { time = "1h", max-share = "200%" }
[pool.third]
servers = "a:1"
check = { http = "GET /", expect = { status = ["2xx", 99, "300-200"], header = "X" }, fast-interval = "5s" }
when-empty = { retry-after = "1500ms" }
"#
    )));
}

#[test]
fn doubtful_things_are_warnings() {
    insta::assert_snapshot!(golden(
        r#"
[listener.web]
bind = ":80"
pool = "web"
proxy-protocol = { from = ["0.0.0.0/0"] }
forwarded = { trusted = "::/0" }
[pool.web]
servers = [{ address = "a:1", weight = 0 }]
tls = { verify = false }
[pool.spare]
[pool.third]
servers = "a:1"
check = "tls"
"#
    ));
}

#[test]
fn queues_that_nobody_waits_in_are_warned_of() {
    let unlimited = r#"
[listener.web]
bind = ":80"
pool = "web"
[[route]]
path = "/a"
pool = "web"
priority = 5
[[route]]
path = "/b"
pool = "web"
priority = 0
[pool.web]
servers = "a:1"
queue = { max-length = 10, fair = "client" }
timeouts = { queue = "5s" }
"#;
    insta::assert_snapshot!(golden(unlimited));
    let warnings = |text: &str| super::load_text(text).unwrap().warnings;
    for limit in ["max-connections = 5", "concurrency = {}", "agent = { port = 9 }"] {
        assert_eq!(warnings(&format!("{unlimited}{limit}\n")), [], "{limit}");
    }
    let of_server = unlimited.replace("\"a:1\"", "[\"a:1\", { address = \"a:2\", max-connections = 5 }]");
    assert_eq!(warnings(&of_server), []);
    // A value that equals the default is no mistake: a printed plan has every key.
    let plan = super::load_text(&unlimited.replace("priority = 5", "").replace("\"5s\"", "\"1s\""));
    assert_eq!(plan.unwrap().warnings.len(), 2);
}

#[test]
fn a_limit_of_one_servers_queue_is_for_those_who_are_bound_to_one() {
    let is_warned_of = |keys: &str| {
        let text = format!(
            "[listener.web]\nbind = \":80\"\npool = \"web\"\n[pool.web]\nservers = {{ address = \"a:1\", max-connections = 5 }}\n\
             queue = {{ max-per-server = 3 }}\n{keys}\n"
        );
        let warnings = super::load_text(&text).unwrap().warnings;
        warnings.iter().any(|warning| warning.to_string().contains("nobody waits for one server"))
    };
    assert!(is_warned_of(""));
    assert!(is_warned_of("sticky = { source = true, when-busy = \"redispatch\" }"));
    assert!(!is_warned_of("sticky = { source = true }"));
    assert!(!is_warned_of("balance = { algorithm = \"ring\", fallback = false }"));
}

#[test]
fn redirects_say_what_they_may_be() {
    insta::assert_snapshot!(golden(
        r#"
[listener.web]
bind = ":80"
pool = "web"
[listener.raw]
bind = ":81"
mode = "tcp"
pool = "raw"
[[route]]
path = "/a"
pool = "web"
rewrite = { path = "/b" }
[pool.web]
servers = { name = "n1", address = "a:1" }
sticky = { cookie = "S" }
redirect = { key-file = "/k", key-env = "A B", methods = "GET /", lifetime = "10ms", nodes = { n2 = "ftp://a", n1 = "https://a/b" } }
[pool.raw]
servers = "a:1"
redirect = { nodes = {} }
[storage-area.data]
root = "/srv"
redirect-key-file = "/k"
redirect-key-env = "K"
"#
    ));
}

#[test]
fn control_characters_of_a_config_do_not_reach_the_terminal() {
    let shown = complaints(&with("\"\\u001b[31m\" = 1\n'a\tb' = 2\n"));
    assert!(shown.contains("unknown key"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn a_very_long_line_is_shown_in_part() {
    let text = with(&format!("x = [{}]\n[pool.web.retry]\n", "\"aaaaaaaa\", ".repeat(50_000)));
    let shown = complaints(&text);
    assert!(shown.len() < 2_000, "{} bytes", shown.len());
    let long_name = format!("[listener.{}]\nbind = 1", "x".repeat(100_000));
    assert!(complaints(&long_name).len() < 4_000);
}

#[test]
fn many_errors_are_counted_not_printed() {
    let text: String = (0..100_000).map(|number| format!("k{number} = 1\n")).collect();
    let messages = messages(&text);
    assert_eq!(messages.len(), 501);
    assert!(messages[500].ends_with("further errors are not shown"), "{}", messages[500]);
}

/// Returns a config with `count` routes, each of which causes a warning.
fn with_warnings(count: usize) -> String {
    let routes: String = (0..count)
        .map(|number| format!("[[route]]\npath = '/{number}'\npool = 'web'\npriority = 1\n"))
        .collect();
    with(&routes)
}

#[test]
fn many_warnings_are_counted_and_none_of_them_is_an_error() {
    let loaded = load_text(&with_warnings(700)).unwrap();
    assert_eq!(loaded.warnings.len(), 501);
    assert_eq!(loaded.warnings[500].message, "200 further warnings are not shown");
}

#[test]
fn an_error_is_told_however_many_warnings_come_first() {
    let messages = messages(&format!("{}[[route]]\npath = '/x'\npool = 'wbe'\n", with_warnings(700)));
    assert!(messages[0].contains("wbe"), "{}", messages[0]);
}

#[test]
fn queues_and_priorities_say_what_they_may_be() {
    insta::assert_snapshot!(golden(
        r#"
[listener.web]
bind = ":80"
pool = "web"

[pool.web]
servers = { address = "a:80", max-connections = 0 }
max-connections = "many"
queue = { timeout = "5s", max-length = 0, fair = "clients" }

[pool.b]
servers = "b:80"
queue = { fair = { header = "X Tenant" } }

[[route]]
path = "/a"
pool = "web"
priority = 1025

[[route]]
path = "/b"
pool = "b"
priority = { header = "X-Priority:", class = "5", offset-ms = 600000, offset-header = "X Y" }

[[route]]
path = "/c"
respond = 403
priority = -1
"#
    ));
}

#[test]
fn breakers_measured_limits_and_hedges_say_what_they_may_be() {
    insta::assert_snapshot!(golden(
        r#"
[listener.web]
bind = ":80"
pool = "web"

[listener.mail]
bind = ":25"
mode = "tcp"
pool = "mail"

[pool.web]
servers = "a:80"
breaker = { errors = "0%", min-request = 5, half-open-requests = 0 }
concurrency = { algorithm = "gradient2", min = 10, max = 5 }
hedge = { delay = "0s" }

[pool.bound]
servers = "c:80"
sticky = { cookie = "SRV" }
hedge = {}

[pool.mail]
servers = "b:25"
concurrency = { algorithm = "aimd", tolerance = "10%" }
hedge = {}
"#
    ));
}

#[test]
fn a_table_of_listeners_without_one_is_no_listener() {
    assert_eq!(messages("[listener]"), ["the config has no listener"]);
}

#[test]
fn a_server_is_not_known_while_the_head_of_a_request_is_made() {
    let with = |whose: &str| {
        messages(&format!(
            "[listener.web]\nbind = \":80\"\n[[route]]\npool = \"web\"\n{whose} = {{ set = {{ X-To = \"{{server}}\" }} }}\n\
             [pool.web]\nservers = \"10.0.0.1:80\"\n"
        ))
    };
    assert_eq!(with("response-headers"), [""; 0]);
    assert!(with("request-headers")[0].ends_with("the server is chosen after the request's head is made"));
}

#[test]
fn what_people_write_at_first_is_answered_with_what_to_write() {
    for (line, help) in [
        ("[listener.b]\nbind = 80\npool = 'web'\n", "write \":80\""),
        (
            "[listener.b]\nbind = ':1'\npool = 'web'\ntls = true\n",
            "for example: tls = { certificates = \"/etc/weir/site.pem\" }",
        ),
        ("[pool.b]\nservers = [{ address = 'a:1', weight = '2' }]\n", "write 2, without quotes"),
        ("[listener.b]\nbind = “:81”\npool = 'web'\n", "write \":81\""),
        ("[pool.b]\nservers = 'https://a'\n", "write a:443, and tls = true in the pool"),
        (
            "[[route]]\nclient = '10.1.2.3/8'\npool = 'web'\n",
            "write 10.0.0.0/8, or 10.1.2.3 for this one address",
        ),
    ] {
        let told = complaints(&with(line));
        assert!(told.contains(help), "{line}: {told}");
    }
}

#[test]
fn a_config_of_another_program_is_answered_once_with_the_page_to_read() {
    let told = complaints("global\n  maxconn 10\nfrontend web\n  bind :80\n");
    assert!(told.contains("error: this is a config of HAProxy, not TOML\n --> weir.toml:1:1"), "{told}");
    assert!(told.contains("docs/guide/coming-from.md") && told.matches("error: ").count() == 1, "{told}");
}

#[test]
fn of_an_errorfile_of_haproxy_the_body_and_its_type_are_used() {
    let loaded = load_text(&with("[error-page.503]\nfile = '/etc/haproxy/503.http'\n")).unwrap();
    let page = &loaded.plan.error_pages[&503];
    assert_eq!((page.body.as_str(), page.content_type.as_str()), ("Back soon.\n", "text/plain"));
    assert_eq!(
        loaded.warnings[0].message,
        "error page 503: file: of its head only Content-Type is used, not Cache-Control"
    );
    let told = messages(&with("[error-page.500]\nfile = '/etc/haproxy/500.http'\n"));
    assert_eq!(
        told,
        ["error page 500: file: it begins as a whole response, and no empty line ends its head"]
    );
}
