//! Checks the admin listener: the clients that can read it, and the passwords of its users.

use weir_access::basic::Htpasswd;
use weir_config::plan::AdminPlan;
use weir_config::{Diagnostic, Loaded};
use weir_model::BindAddress;

use super::files;

/// Reports an htpasswd file that cannot be used, and warns if any client can read the admin listener.
pub(super) fn check(loaded: &Loaded) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let Some(admin) = &loaded.plan.admin else { return found };
    if let Some(file) = &admin.htpasswd {
        let users =
            files::read(file).and_then(|text| Htpasswd::parse(&text).map_err(|cause| cause.to_string()));
        let place = ["admin", "htpasswd"];
        match users {
            Ok(users) if users.is_empty() => {
                let message = format!("admin: htpasswd: {} has no users: no user can log in", file.display());
                found.push(loaded.warning_at(&place, message));
            }
            Ok(_) => {}
            Err(cause) => {
                let message = format!("admin: htpasswd: {}: {cause}", file.display());
                found.push(loaded.error_at(&place, message));
            }
        }
    }
    found.extend(exposed(loaded, admin));
    found
}

/// Warns of an address that other machines can reach.
fn exposed(loaded: &Loaded, admin: &AdminPlan) -> Option<Diagnostic> {
    let address = admin.bind.iter().find(|bind| is_open(bind))?;
    let asks_for_certificates =
        admin.tls.as_ref().and_then(|tls| tls.client_auth.as_ref()).is_some_and(|auth| auth.required);
    let (message, help) = match (&admin.htpasswd, &admin.tls) {
        (Some(_), None) => (
            format!("admin: {address}: no TLS: passwords cross the network in plaintext"),
            "add tls = { certificates = ... }",
        ),
        (None, _) if admin.allow.is_empty() && !asks_for_certificates => (
            format!(
                "admin: {address}: everyone who reaches this address can read the status page and the metrics"
            ),
            "add allow = \"...\" (networks) or htpasswd, or bind to 127.0.0.1",
        ),
        _ => return None,
    };
    let mut warning = loaded.warning_at(&["admin", "bind"], message);
    warning.help = Some(help.to_owned());
    Some(warning)
}

fn is_open(bind: &BindAddress) -> bool {
    match bind {
        BindAddress::Inet(address) => !address.ip().to_canonical().is_loopback(),
        BindAddress::Unix(_) => false,
    }
}
