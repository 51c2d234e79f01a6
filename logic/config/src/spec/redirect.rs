//! Clients that are sent on to the servers of a pool, and where secrets are.

use weir_model::{Name, ServerName};

use super::header::is_token;
use super::process::path_if;
use crate::diagnostic::Problem;
use crate::plan::{RedirectPlan, SecretPlace, ServerPlan};
use crate::source::Located;
use crate::suggest;
use crate::table::{Table, located_text};
use crate::tree::{Node, short};

pub(super) fn read(pool: &Table<'_, '_>, servers: &[ServerPlan]) -> Option<RedirectPlan> {
    if pool.is_off("redirect") {
        return None;
    }
    let table = pool.table("redirect");
    if let (false, Some(node)) = (pool.is_off("sticky"), pool.get("redirect")) {
        let why = "a pool with sticky has none: clients that go to a server themselves are not bound to it";
        pool.error("redirect", node.span, why);
    }
    let key = secret_place(&table, "key-file", "key-env");
    if key.is_none() && !table.has_unknown_keys() {
        let help = "add key-file = \"/etc/weir/redirect.key\" or key-env = \"WEIR_REDIRECT_KEY\"".to_owned();
        table.report("key-file", table.span(), "missing: tickets are made with a secret", Some(help));
    }
    let plan = RedirectPlan {
        methods: methods(&table),
        nodes: nodes(&table, servers),
        key: key.unwrap_or(SecretPlace::Env(String::new())),
        lifetime: table.duration("lifetime"),
    };
    Some(plan)
}

/// Where a secret is, by the keys that say so.
pub(super) fn secret_place(
    table: &Table<'_, '_>,
    file_key: &'static str,
    env_key: &'static str,
) -> Option<SecretPlace> {
    let file = path_if(table, file_key).map(SecretPlace::File);
    let env = table.text_if(env_key).map(|name| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.value.is_empty() || !name.value.chars().all(is_name) {
            table.error(
                env_key,
                name.span,
                format!("{:?} is not the name of a variable", short(&name.value)),
            );
        }
        SecretPlace::Env(name.value)
    });
    if let (Some(_), Some(_), Some(node)) = (&file, &env, table.get(env_key)) {
        table.error(env_key, node.span, format!("{file_key} says where the secret is already"));
    }
    file.or(env)
}

fn methods(table: &Table<'_, '_>) -> Vec<String> {
    let Some(node) = table.get("methods") else { return vec!["GET".to_owned(), "PUT".to_owned()] };
    let written: Vec<Located<String>> = table.many("methods").iter().filter_map(located_text).collect();
    if written.is_empty() {
        table.error("methods", node.span, "expected at least one method");
    }
    for method in written.iter().filter(|method| !is_token(&method.value)) {
        table.error("methods", method.span, format!("{:?} is not a method", short(&method.value)));
    }
    written.into_iter().map(|method| method.value).collect()
}

fn nodes(table: &Table<'_, '_>, servers: &[ServerPlan]) -> Vec<(ServerName, String)> {
    let mut nodes = Vec::new();
    let names = || servers.iter().map(|server| server.name.as_str());
    for (name, node) in table.get("nodes").map_or(&[][..], Node::entries) {
        let Some(url) = node.text() else { continue };
        let url = url.strip_suffix('/').unwrap_or(url);
        if !is_origin(url) {
            let why = format!("{:?} is not https://host:port or http://host:port", short(url));
            table.error("nodes", node.span, why);
        }
        // Servers of a pool that has none in the file are added at runtime.
        if !servers.is_empty() && !names().any(|server| server == name.value) {
            let message =
                format!("{}: the pool has no server {}", table.subject.key("nodes"), short(&name.value));
            let problem = Problem::warning(name.span, message);
            table.cx.report(match suggest::closest(&name.value, names()) {
                Some(close) => problem.help(suggest::did_you_mean(close)),
                None => problem,
            });
        }
        match Name::new(&name.value) {
            Ok(server) => nodes.push((server, url.to_owned())),
            Err(cause) => table.error("nodes", name.span, format!("{:?}: {cause}", short(&name.value))),
        }
    }
    nodes
}

/// Scheme and authority, and nothing else.
fn is_origin(url: &str) -> bool {
    let authority = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_sound = |c: char| c.is_ascii_alphanumeric() || "-._~:[]".contains(c);
    authority.is_some_and(|authority| !authority.is_empty() && authority.chars().all(is_sound))
}
