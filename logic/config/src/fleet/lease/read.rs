//! Reads `[fleet.NAME.lease]`.

use std::path::{Path, PathBuf};

use weir_model::{Name, ServerAddress};

use super::plan::{LeasePlan, LeaseStoreKind, LeaseStorePlan};
use crate::common::choice::exactly_one;
use crate::common::secret::secret_place;
use crate::syntax::diagnostic::Problem;
use crate::syntax::tree::{Node, Value, short};
use crate::tls;
use crate::values::table::Table;

/// Reads `lease` of a fleet: a file, possibly with a configured path, or a key in a store.
pub(crate) fn lease(
    fleet: &Table<'_, '_>,
    name: &Name,
    file: Option<PathBuf>,
    directory: &Path,
) -> LeasePlan {
    let is_table = fleet.get("lease").is_some_and(|node| matches!(node.value, Value::Table(_)));
    let store = if is_table { store(&fleet.table("lease"), name) } else { None };
    match store {
        Some(store) => LeasePlan::Store(Box::new(store)),
        None => LeasePlan::File(file.unwrap_or_else(|| directory.join("lease"))),
    }
}

fn store(table: &Table<'_, '_>, fleet: &Name) -> Option<LeaseStorePlan> {
    let (key, kind) = exactly_one(table, [("redis", LeaseStoreKind::Redis), ("etcd", LeaseStoreKind::Etcd)])?;
    let written = table.many(key);
    let addresses: Vec<ServerAddress> = written
        .iter()
        .filter_map(|node| table.parse_node::<ServerAddress>(key, node))
        .map(|address| address.value)
        .collect();
    if let (Some(node), []) = (table.get(key), written) {
        table.error(key, node.span, "expected at least one address");
    }
    if kind == LeaseStoreKind::Etcd
        && addresses.iter().any(|address| matches!(address, ServerAddress::Unix(_)))
    {
        table.error(key, table.span(), "an etcd is asked over TCP: give host and port");
    }
    let tls = (!table.is_off("tls")).then(|| tls::read::outbound(&table.table("tls")));
    if let (Some(node), Some(false)) = (table.table("tls").get("verify"), tls.as_ref().map(|tls| tls.verify))
    {
        let message = format!("{}: the store is not verified", table.subject.key("tls"));
        let problem = Problem::warning(node.span, message);
        table.cx.report(problem.help("name its authority with ca = \"file\" instead"));
    }
    let (username, password) =
        (table.text_if("username"), secret_place(table, "password-file", "password-env"));
    if let (Some(name), None) = (&username, &password) {
        let help = "add password-file = \"/etc/weir/lease.password\"".to_owned();
        table.report("username", name.span, "there is no password for it", Some(help));
    }
    if let (LeaseStoreKind::Etcd, None, Some(_)) = (kind, &username, &password) {
        table.error("username", table.span(), "missing: etcd wants a name with the password");
    }
    Some(LeaseStorePlan {
        kind,
        addresses,
        key: store_key(table).unwrap_or_else(|| format!("weir/fleet/{fleet}")),
        lasts: table.duration("lasts"),
        username: username.map(|name| name.value),
        password,
        tls,
    })
}

fn store_key(table: &Table<'_, '_>) -> Option<String> {
    let node: &Node = table.get("key").filter(|node| node.text().is_some())?;
    let key = table.text("key");
    let good = (1..=200).contains(&key.len()) && key.chars().all(|c| c.is_ascii_graphic());
    if !good {
        table.error(
            "key",
            node.span,
            format!("{:?} cannot be a key: 1 to 200 characters of ASCII, no spaces", short(&key)),
        );
    }
    Some(key)
}
