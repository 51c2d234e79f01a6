//! Reads `[pool.NAME.redirect]`: redirects of clients to the servers of a pool.

use weir_model::{Name, ServerName};

use super::plan::RedirectPlan;
use crate::common::header::is_token;
use crate::common::secret::{SecretPlace, secret_place};
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::Located;
use crate::syntax::tree::{Node, short};
use crate::values::suggest;
use crate::values::table::{Table, located_text};

/// Reads `redirect`. `servers`: the names of the pool's servers.
pub(crate) fn read(pool: &Table<'_, '_>, servers: &[&ServerName]) -> Option<RedirectPlan> {
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

fn nodes(table: &Table<'_, '_>, servers: &[&ServerName]) -> Vec<(ServerName, String)> {
    let mut nodes = Vec::new();
    let names = || servers.iter().map(|server| server.as_str());
    for (name, node) in table.get("nodes").map_or(&[][..], Node::entries) {
        let Some(url) = node.text() else { continue };
        let url = url.strip_suffix('/').unwrap_or(url);
        if !is_origin(url) {
            let why = format!("{:?} is not https://host:port or http://host:port", short(url));
            table.error("nodes", node.span, why);
        }
        // If the file lists no servers, they are added at runtime, so that any name may be right.
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

/// Returns true if the URL has a scheme and an authority, and nothing else.
fn is_origin(url: &str) -> bool {
    let authority = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_sound = |c: char| c.is_ascii_alphanumeric() || "-._~:[]".contains(c);
    authority.is_some_and(|authority| !authority.is_empty() && authority.chars().all(is_sound))
}
