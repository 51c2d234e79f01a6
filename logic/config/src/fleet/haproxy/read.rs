//! Reads `[fleet.NAME.haproxy]`.

use crate::common::paths::absolute;
use crate::fleet::command::command_of;
use crate::fleet::plan::{HaproxyBackend, HaproxyTemplate};
use crate::syntax::tree::{Node, short};
use crate::values::table::Table;

const VALIDATE: [&str; 4] = ["haproxy", "-c", "-f", "{file}"];
const RELOAD: [&str; 3] = ["systemctl", "reload", "haproxy"];

/// Reads `[fleet.NAME.haproxy]`. `table` is the table of the fleet, which may use signals that HAProxy does
/// not report.
pub(crate) fn backend(table: &Table<'_, '_>) -> HaproxyBackend {
    let inner = table.table("haproxy");
    let (backend, server) = (inner.text("backend"), inner.text("server"));
    // These checks exclude characters that end a command on the runtime socket or begin another one.
    if let (Some(node), true) = (inner.get("backend"), backend.is_empty() || !backend.chars().all(is_of_name))
    {
        inner.error("backend", node.span, format!("{:?} is no name of a backend", short(&backend)));
    }
    if let (Some(node), true) = (inner.get("server"), server.contains([';', '\n', '\r', '\\', '#'])) {
        inner.error("server", node.span, "only options of a server can stand here");
    } else if let (Some(node), false) =
        (inner.get("server"), server.split_whitespace().any(|word| word == "check"))
    {
        inner.error(
            "server",
            node.span,
            "has no check: servers would get requests before they can answer them",
        );
    }
    if let (Some(node), Some(kind)) = (table.get("signals"), untold(table)) {
        table.error("signals", node.span, format!("HAProxy's statistics do not tell {kind}"));
    }
    if let (Some(node), None) = (table.get("capacity"), table.get("capacity").and_then(Node::decimal)) {
        table.error("capacity", node.span, "cannot be found out from HAProxy's statistics: give a number");
    }
    for (name, node) in table.get("flavours").map_or(&[][..], Node::entries) {
        if node.text() == Some("auto") {
            let message = format!(
                "{}: cannot be found out from HAProxy's statistics: give a number",
                short(&name.value)
            );
            table.error("flavours", node.span, message);
        }
    }
    let socket = absolute(&inner, "socket").unwrap_or_default();
    let template = inner.table_if("template").map(|inner| template(&inner));
    HaproxyBackend { socket, backend, server, template }
}

fn template(table: &Table<'_, '_>) -> HaproxyTemplate {
    let command = |key: &str, otherwise: &[&str]| match table.get(key) {
        Some(_) => command_of(table, key),
        None => otherwise.iter().map(|word| (*word).to_owned()).collect(),
    };
    let (file, config) = (absolute(table, "file"), absolute(table, "config"));
    if let (Some(node), true) = (table.get("config"), file.is_some() && file == config) {
        table.error("config", node.span, "the template would be written over");
    }
    let validate = command("validate", &VALIDATE);
    if let (Some(node), false) = (table.get("validate"), validate.iter().any(|word| word.contains("{file}")))
    {
        table.error("validate", node.span, "{file} does not stand in it: nothing would be validated");
    }
    HaproxyTemplate {
        file: file.unwrap_or_default(),
        config: config.unwrap_or_default(),
        validate,
        reload: command("reload", &RELOAD),
        timeout: table.duration("timeout"),
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.:".contains(c)
}

/// Returns the first input of the fleet's signals that HAProxy does not report.
fn untold(table: &Table<'_, '_>) -> Option<&'static str> {
    let kinds = table.many("signals").iter().filter_map(|signal| signal.get("kind")?.text());
    kinds.into_iter().find_map(|kind| match kind {
        "latency" => Some("latencies"),
        "cpu" => Some("the load of processors"),
        _ => None,
    })
}
