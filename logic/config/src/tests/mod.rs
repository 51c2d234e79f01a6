//! Tests of the whole crate, and helpers that they share.

mod auto_weight;
mod balance;
mod diff;
mod directory;
mod documents;
mod environment;
mod errors;
mod every_key;
mod example;
mod expressions;
mod fleet;
pub(crate) mod keys_read;
mod lab;
mod limits;
mod offload;
mod outline;
mod paths;
mod print;
mod routes;
mod scaling;
mod secrets;
mod simulation;
mod spread;
mod sticky;
mod storage;
mod suggestions;

use crate::{Diagnostic, Loaded, Outside, Source, load_with};

fn source(name: &str, text: &str) -> Source {
    Source { name: name.to_owned(), text: text.to_owned() }
}

fn load_text(text: &str) -> Result<Loaded, Vec<Diagnostic>> {
    let file = |path: &std::path::Path| match path.to_str() {
        Some("/etc/weir/504.html") => Ok("Too slow.".to_owned()),
        Some("/etc/haproxy/503.http") => {
            Ok("HTTP/1.0 503 Service Unavailable\r\nCache-Control: no-cache\r\nConnection: close\r\n\
             Content-Type: text/plain\r\n\r\nBack soon.\n"
                .to_owned())
        }
        Some("/etc/haproxy/500.http") => Ok("HTTP/1.0 500 Error\r\nContent-Type: text/html\r\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    load_with(&[source("weir.toml", text)], Outside { env: &|_| None, file: &file })
}

/// Returns the printed errors of a config, or its warnings if it has no errors.
fn complaints(text: &str) -> String {
    let diagnostics = match load_text(text) {
        Ok(loaded) => loaded.warnings,
        Err(errors) => errors,
    };
    diagnostics.iter().map(|diagnostic| format!("{diagnostic}\n\n")).collect()
}

/// Returns only the messages, for tests that do not check the presentation.
fn messages(text: &str) -> Vec<String> {
    match load_text(text) {
        Ok(loaded) => loaded.warnings,
        Err(errors) => errors,
    }
    .into_iter()
    .map(|diagnostic| diagnostic.message)
    .collect()
}

/// Returns a config with one listener and one pool, and `more`.
fn with(more: &str) -> String {
    format!(
        "[listener.web]\nbind = \":80\"\npool = \"web\"\n\n[pool.web]\nservers = \"10.0.0.1:80\"\n\n{more}"
    )
}
