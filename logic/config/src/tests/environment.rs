//! Tests environment variables in configs.

use super::source;
use crate::{Diagnostic, Loaded, load};

fn load_with(text: &str) -> Result<Loaded, Vec<Diagnostic>> {
    let env = |name: &str| match name {
        "PORT" => Some("8080".to_owned()),
        "SERVER" => Some("10.0.0.7:80".to_owned()),
        "WORKERS" => Some("3".to_owned()),
        "BACKUP" => Some("true".to_owned()),
        "EVIL" => Some("a\r\nX-Evil: 1".to_owned()),
        _ => None,
    };
    load(&[source("weir.toml", text)], &env)
}

fn errors(text: &str) -> String {
    load_with(text).unwrap_err().iter().map(|error| format!("{error}\n\n")).collect()
}

#[test]
fn variables_fill_texts_numbers_and_flags() {
    let text = r#"
[weir]
workers = "${WORKERS}"
[listener.web]
bind = "0.0.0.0:${PORT}"
backlog = "${BACKLOG:-512}"
pool = "${POOL:-web}"
[pool.web]
servers = [{ address = "${SERVER}", name = "$${x}-${PORT}", backup = "${BACKUP}" }]
tls = "${TLS:-false}"
check = "${CHECK:-false}"
"#;
    let errors = load_with(text).unwrap_err();
    // `$${` is literal, and a name cannot contain `$`.
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert!(errors[0].message.contains("'$'"), "{}", errors[0].message);
    let plan = load_with(&text.replace("$${x}-", "s")).unwrap().plan;
    assert_eq!(plan.process.workers, Some(3));
    assert_eq!(plan.listeners[0].bind[0].to_string(), "0.0.0.0:8080");
    assert_eq!(plan.listeners[0].backlog, 512);
    let server = &plan.pools[0].servers[0];
    assert_eq!((server.address.to_string().as_str(), server.backup), ("10.0.0.7:80", true));
    assert!(plan.pools[0].tls.is_none() && plan.pools[0].check.is_none());
}

#[test]
fn only_a_whole_variable_stands_for_a_number() {
    let text = "[weir]\nworkers = \"1${WORKERS}\"\n[listener.web]\nbind = \":80\"\npool = \"p\"\n[pool.p]\nservers = \"a:1\"\n";
    assert!(errors(text).contains("expected a whole number"), "{}", errors(text));
}

#[test]
fn an_unset_variable_is_pointed_at_and_nothing_else_is_said_of_its_value() {
    insta::assert_snapshot!(errors(
        "[listener.web]\nbind = \"${ADDRESS}:80\"\nbacklog = \"${BACKLOG}\"\npool = \"${POOL\"\n[pool.p]\nservers = [\"\\u0061${A B}\"]\n"
    ));
}

#[test]
fn a_variable_cannot_smuggle_a_line_into_a_header() {
    let text = "[listener.web]\nbind = \":80\"\n[[route]]\nredirect = \"https://a/${EVIL}\"\n";
    assert!(errors(text).contains("redirect"), "{}", errors(text));
    let text = "[listener.web]\nbind = \":80\"\n[[route]]\nrespond = 200\nresponse-headers = { set = { A = \"${EVIL}\" } }\n";
    assert!(errors(text).contains("response-headers.set"), "{}", errors(text));
}
