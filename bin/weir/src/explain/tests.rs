//! Tests the text that `weir explain` prints.

use weir_config::Secrets;

use super::{answer, report};
use crate::explain::question::Question;

const CONFIG: &str = r#"
[listener.web]
bind = ":80"
pool = "web"
forwarded = { trusted = "10.0.0.0/8" }

[listener.tls]
bind = ["0.0.0.0:443", "unix:/run/weir.sock"]
tls = { certificates = "/nowhere.pem" }

[listener.mail]
bind = ":993"
mode = "tcp"
sni = [{ host = "*.mail.example", pool = "web" }, { host = "b.example", pool = "hash" }]

[[route]]
name = "api"
host = ["api.example", "*.api.example"]
path = "/v1"
method = ["GET", "HEAD"]
header = { X-Kind = { contains = "k" }, X-No = false }
client = "192.0.2.0/24"
when = "size(query) < 5"
pool = "hash"
rewrite = { prefix = "/v1", to = "/" }
request-headers = { set = { X-Route = "{route}" } }

[[route]]
name = "away"
listener = "web"
path = "/away"
redirect = "https://{host}{uri}"

[[route]]
name = "gone"
path = "=/gone"
respond = 410

[pool.web]
servers = ["10.0.0.1:80", { name = "big", address = "10.0.0.2:80", weight = 3 }, { name = "spare", address = "10.0.0.3:80", backup = true }, { name = "off", address = "10.0.0.4:80", weight = 0 }]

[pool.hash]
balance = "source"
servers = ["10.0.1.1:80", "10.0.1.2:80", "10.0.1.3:80"]
"#;

fn explained(url: &str, method: &str, headers: &[&str], client: &str, listener: Option<&str>) -> String {
    let source = weir_config::Source { name: "weir.toml".to_owned(), text: CONFIG.to_owned() };
    let plan = weir_config::load(&[source], &|_| None).unwrap().plan;
    let headers: Vec<String> = headers.iter().map(|header| (*header).to_owned()).collect();
    let question = Question::new(url, method, &headers, client.parse().unwrap()).unwrap();
    report::text(&answer(&plan, &Secrets::default(), &question, listener))
}

#[test]
fn a_client_that_is_sent_on_is_told_where_to() {
    let config = r#"
[listener.web]
bind = ":80"
pool = "web"
[pool.web]
servers = [{ name = "n1", address = "10.0.0.1:80" }, { name = "n2", address = "10.0.0.2:80" }]
redirect = { key-env = "K", nodes = { n1 = "https://n1.example", n2 = "https://n2.example" } }
"#;
    let asked_with = |config: &str, method: &str, url: &str, headers: &[String]| {
        let source = weir_config::Source { name: "weir.toml".to_owned(), text: config.to_owned() };
        let plan = weir_config::load(&[source], &|_| None).unwrap().plan;
        let question = Question::new(url, method, headers, "192.0.2.1".parse().unwrap()).unwrap();
        report::text(&answer(&plan, &Secrets::default(), &question, None))
    };
    let asked = |config: &str, method: &str, url: &str| asked_with(config, method, url, &[]);
    let chosen = asked(config, "GET", "http://a.example/file");
    assert!(
        chosen.contains("307 to the server that is chosen, with a ticket, if it is one of n1, n2"),
        "{chosen}"
    );
    let only = config.replace(", { name = \"n2\", address = \"10.0.0.2:80\" }", "");
    let only = asked(&only, "PUT", "http://a.example/file");
    assert!(only.contains("307 to https://n1.example, with a ticket"), "{only}");
    for (method, url) in [("HEAD", "http://a.example/file"), ("GET", "http://a.example/directory/")] {
        assert!(!asked(config, method, url).contains("307"), "{method} {url}");
    }
    // The client could not continue these at another host.
    for line in ["Upload-Complete: ?1", "Sec-Fetch-Mode: cors"] {
        let said = asked_with(config, "PUT", "http://a.example/file", &[line.to_owned()]);
        assert!(!said.contains("307"), "{line}: {said}");
    }
    let every = config.replace("redirect = {", "redirect = { methods = [\"GET\", \"HEAD\", \"DELETE\"],");
    for method in ["GET", "HEAD", "DELETE"] {
        let of_upload = asked(&every, method, "http://a.example/file?a=b&weir-upload=1");
        assert!(!of_upload.contains("307"), "{method}: {of_upload}");
        assert!(asked(&every, method, "http://a.example/file?a=weir-upload=1").contains("307"), "{method}");
    }
}

#[test]
fn what_servers_may_have_sent_or_stored_in_place_of_a_body_is_told() {
    let config = r#"
[listener.web]
bind = ":80"
pool = "web"
[pool.web]
servers = "10.0.0.1:80"
[pool.web.offload]
uploads = true
[[pool.web.offload.location]]
prefix = "/internal"
storage-area = "data"
[[pool.web.offload.location]]
prefix = "/plain"
root = "/srv/plain"
[storage-area.data]
root = "/srv/data"
"#;
    let asked = |config: &str, method: &str, headers: &[&str]| {
        let source = weir_config::Source { name: "weir.toml".to_owned(), text: config.to_owned() };
        let plan = weir_config::load(&[source], &|_| None).unwrap().plan;
        let headers: Vec<String> = headers.iter().map(|header| (*header).to_owned()).collect();
        let question =
            Question::new("http://a.example/f", method, &headers, "192.0.2.1".parse().unwrap()).unwrap();
        let text = report::text(&answer(&plan, &Secrets::default(), &question, None));
        text.lines()
            .filter(|line| line.starts_with("offload"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let sent = "offload   if a 2xx has X-Accel-Redirect, that file is sent instead, of those below /internal (storage area data), \
                /plain (/srv/plain)";
    assert_eq!(asked(config, "GET", &[]), sent);
    assert_eq!(
        asked(config, "PUT", &[]),
        "offload   the server is asked without the body, and again when the body is stored"
    );
    assert_eq!(asked(config, "PUT", &["Content-Range: bytes 0-1/2"]), sent);
    let without = config.replace("uploads = true\n", "x-sendfile = true\n");
    assert!(asked(&without, "PUT", &[]).contains("X-Accel-Redirect or X-Sendfile"));
    let plain = &config[..config.find("[pool.web.offload]").unwrap()];
    assert_eq!(asked(plain, "GET", &[]), "");
}

fn get(url: &str) -> String {
    explained(url, "GET", &[], "192.0.2.1", None)
}

#[test]
fn a_request_is_followed_from_listener_to_server() {
    let headers = ["X-Kind: a key", "X-Remote-User: root", "Cookie: a=b"];
    insta::assert_snapshot!(explained(
        "http://x.api.example/v1/items?a=1",
        "GET",
        &headers,
        "192.0.2.1",
        None
    ));
}

#[test]
fn every_route_before_says_why_it_did_not_take_the_request() {
    let reason = |url, method, headers: &[&str], client| {
        let text = explained(url, method, headers, client, None);
        text.lines().find(|line| line.starts_with("not")).unwrap_or("none").to_owned()
    };
    let key = ["X-Kind: k"];
    let url = "http://api.example/v1";
    assert_eq!(
        reason("http://a.example/", "GET", &key, "192.0.2.1"),
        "not       api (weir.toml:16): host a.example is none of api.example, *.api.example"
    );
    assert_eq!(
        reason("http://api.example/v2", "GET", &key, "192.0.2.1"),
        "not       api (weir.toml:16): path /v2 is none of /v1"
    );
    assert_eq!(
        reason(url, "PUT", &key, "192.0.2.1"),
        "not       api (weir.toml:16): method PUT is none of GET, HEAD"
    );
    assert_eq!(
        reason(url, "GET", &[], "192.0.2.1"),
        "not       api (weir.toml:16): no header X-Kind contains \"k\""
    );
    assert_eq!(
        reason(url, "GET", &["X-Kind: k", "X-No: 1"], "192.0.2.1"),
        "not       api (weir.toml:16): header X-No is there"
    );
    assert_eq!(
        reason(url, "GET", &key, "192.0.3.1"),
        "not       api (weir.toml:16): client 192.0.3.1 is in none of 192.0.2.0/24"
    );
    assert_eq!(
        reason("http://api.example/v1?long=1", "GET", &key, "192.0.2.1"),
        "not       api (weir.toml:16): this is false: size(query) < 5"
    );
    assert_eq!(reason(url, "GET", &key, "192.0.2.1"), "none");
}

#[test]
fn what_no_route_takes_goes_to_the_listeners_own_pool() {
    insta::assert_snapshot!(get("http://a.example/x"));
}

#[test]
fn redirects_and_responses_say_what_the_client_gets() {
    assert!(get("http://a.example/away/x?y").contains("redirect  308 to https://a.example/away/x?y\n"));
    assert!(get("http://a.example/gone").contains("respond   410\n"));
}

#[test]
fn a_request_that_nobody_takes_is_answered_404() {
    assert!(get("https://a.example/x").contains("listener  tls (0.0.0.0:443, unix:/run/weir.sock)\n"));
    assert!(get("https://a.example/x").contains("refused   404: no route takes it\n"));
}

#[test]
fn a_malformed_request_is_refused_as_it_would_be_on_the_wire() {
    let text = explained("http://a.example/", "G T", &[], "192.0.2.1", None);
    assert!(text.contains("refused   400: "), "{text}");
    let text =
        explained("http://a.example/", "GET", &["Content-Length: 1", "Content-Length: 2"], "192.0.2.1", None);
    assert!(text.contains("refused   400: "), "{text}");
    let long = format!("http://a.example/{}", "x".repeat(9_000));
    assert!(get(&long).contains("refused   414: "));
}

#[test]
fn a_path_is_shown_as_sent_as_compared_and_as_forwarded() {
    let text = explained("http://a.example:80/x/..//%61way/%20?q", "GET", &[], "192.0.2.1", None);
    for line in [
        "/away/%20, as rules compare it",
        "/x/..//%61way/%20, as it was sent",
        "/%61way/%20, as a server gets it",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.contains("https://a.example/%61way/%20?q"), "{text}");
    let plain = explained("http://a.example:80/away", "GET", &[], "192.0.2.1", None);
    assert!(!plain.contains("as rules compare it"), "{plain}");
    for (path, key) in [
        ("/x%2fy", "encoded-slash"),
        ("/..;/away", "parameters"),
        ("/x\\y", "backslash"),
        ("/../away", "above-root"),
    ] {
        let refused = explained(&format!("http://a.example:80{path}"), "GET", &[], "192.0.2.1", None);
        assert!(
            refused.contains("400") && refused.contains(&format!("{key} of [listener.web.paths]")),
            "{refused}"
        );
    }
    let to = |destination: &str| {
        let header = format!("Destination: {destination}");
        explained("http://a.example:80/file", "COPY", &[&header], "192.0.2.1", None)
    };
    assert!(
        to("/%67one").contains("403") && to("/..;/gone").contains("400") && to("/other").contains("pool")
    );
}

#[test]
fn a_trusted_peer_says_who_the_client_is_and_the_source_hash_follows() {
    let asked = |client: &str, headers: &[&str]| {
        let mut headers = headers.to_vec();
        headers.push("X-Kind: k");
        explained("http://api.example/v1", "GET", &headers, client, None)
    };
    let direct = asked("192.0.2.9", &[]);
    let behind = asked("10.1.1.1", &["X-Forwarded-For: 192.0.2.9"]);
    let server = |text: &str| text.lines().find(|line| line.starts_with("server")).map(str::to_owned);
    assert!(behind.contains("client    192.0.2.9\n"), "{behind}");
    assert!(server(&direct).is_some());
    assert_eq!(server(&direct), server(&behind));
}

#[test]
fn a_tcp_listener_goes_by_the_server_name() {
    let text = get("https://a.mail.example:993/");
    assert!(text.contains("route     sni 1\n") && text.contains("pool      web, "), "{text}");
    let text = get("https://b.example:993/");
    assert!(text.contains("not       sni 1: server name b.example is none of *.mail.example\n"), "{text}");
    assert!(text.contains("pool      hash, source\n"), "{text}");
    assert!(get("tcp://b.example:993").contains("nobody    no route takes it"));
}

#[test]
fn a_port_that_nobody_has_lists_the_listeners() {
    insta::assert_snapshot!(get("http://a.example:8080/"));
}

#[test]
fn a_listener_can_be_named() {
    let text = explained("http://a.example:8080/gone", "GET", &[], "192.0.2.1", Some("tls"));
    assert!(text.contains("listener  tls") && text.contains("respond   410"), "{text}");
    let text = explained("http://a.example:8080/gone", "GET", &[], "192.0.2.1", Some("none"));
    assert!(text.contains("nobody    there is no listener none"), "{text}");
}

#[test]
fn an_url_that_is_none_is_an_error() {
    let wrong = |url: &str| Question::new(url, "GET", &[], [127, 0, 0, 1].into()).unwrap_err();
    assert!(wrong("example.org/x").contains("expected http://host/path"));
    assert!(wrong("ftp://example.org/").contains("none of http, https and tcp"));
    assert!(wrong("http:///x").contains("not a host"));
    assert!(wrong("http://a b/").contains("not a host"));
    assert!(wrong("http://a:99999/").contains("not a host"));
    assert!(wrong("tcp://a").contains("port is missing"));
}
