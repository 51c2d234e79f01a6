//! Prints `[fleet.NAME.lease]`.

use super::plan::{LeaseStoreKind, LeaseStorePlan};
use crate::common::print::path;
use crate::common::secret::SecretPlace;
use crate::common::writer::{OFF, Printed, Writer};
use crate::tls::print::tls_out;

/// Prints the table of a lease in a store. `head`: the name of the parent table, without brackets.
pub(crate) fn store(writer: &mut Writer, head: &str, plan: &LeaseStorePlan) {
    writer.table(&format!("[{head}.lease]"));
    let addresses: Vec<String> = plan.addresses.iter().map(ToString::to_string).collect();
    match plan.kind {
        LeaseStoreKind::Redis => writer.key_if("redis", addresses.first()),
        LeaseStoreKind::Etcd => writer.many("etcd", &addresses),
    }
    writer.key("key", &plan.key);
    writer.key("lasts", Printed(plan.lasts));
    writer.key_if("username", plan.username.as_ref());
    match &plan.password {
        Some(SecretPlace::File(file)) => writer.key("password-file", path(file)),
        Some(SecretPlace::Env(name)) => writer.key("password-env", name),
        None => {}
    }
    match &plan.tls {
        None => writer.key("tls", OFF),
        Some(tls) => tls_out(writer, &format!("{head}.lease.tls"), tls),
    }
}
