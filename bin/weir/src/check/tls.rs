//! Checks certificates, keys, CAs and ciphers: whether they load and match, and when certificates expire.

use std::path::Path;

use weir_config::plan::{PoolPlan, TlsIn, TlsOut};
use weir_config::{Diagnostic, Loaded, closest};
use weir_net::tls::{FileRole, TlsError, check_tls_in, check_tls_out, cipher_names};

/// Reports problems in the TLS settings of listeners and pools.
pub(super) fn check(loaded: &Loaded) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for listener in &loaded.plan.listeners {
        if let Some(tls) = &listener.tls {
            let name = listener.name.as_str();
            check_in(loaded, &["listener", name, "tls"], &format!("listener {name}: tls"), tls, &mut found);
        }
    }
    if let Some(tls) = loaded.plan.admin.as_ref().and_then(|admin| admin.tls.as_ref()) {
        check_in(loaded, &["admin", "tls"], "admin: tls", tls, &mut found);
    }
    for pool in &loaded.plan.pools {
        if let Some(tls) = &pool.tls {
            check_out(loaded, pool, tls, &mut found);
        }
    }
    if loaded.plan.storage_areas.iter().any(|area| area.third_party_copy) {
        check_copies(loaded, &mut found);
    }
    found
}

fn check_copies(loaded: &Loaded, found: &mut Vec<Diagnostic>) {
    let report = check_tls_out(&loaded.plan.third_party_copy.tls());
    for error in &report.errors {
        let key = match error {
            TlsError::File { role: FileRole::Certificate | FileRole::Key, .. } => "client-certificate",
            _ => "ca",
        };
        found.push(diagnostic(loaded, &["third-party-copy", key], "third-party-copy", error));
    }
    for warning in report.warnings {
        let message = format!("third-party-copy: {warning}");
        found.push(loaded.warning_at(&["third-party-copy", "client-certificate"], message));
    }
}

/// Checks the TLS settings for incoming connections. `keys` lead to the table; messages begin with `subject`.
fn check_in(loaded: &Loaded, keys: &[&str], subject: &str, tls: &TlsIn, found: &mut Vec<Diagnostic>) {
    let report = check_tls_in(tls);
    for error in &report.errors {
        let path = match error {
            TlsError::File { role, path, .. } => place_in(tls, *role, path),
            TlsError::UnknownCipher(cipher) => match tls.ciphers.iter().position(|there| there == cipher) {
                Some(index) => vec!["ciphers".to_owned(), index.to_string()],
                None => vec!["ciphers".to_owned()],
            },
            TlsError::NoCipherForVersion => vec!["ciphers".to_owned()],
            _ => Vec::new(),
        };
        let keys: Vec<&str> = keys.iter().copied().chain(path.iter().map(String::as_str)).collect();
        found.push(diagnostic(loaded, &keys, subject, error));
    }
    for warning in report.warnings {
        let keys: Vec<&str> = keys.iter().copied().chain(["certificates"]).collect();
        found.push(loaded.warning_at(&keys, format!("{subject}: {warning}")));
    }
}

fn check_out(loaded: &Loaded, pool: &PoolPlan, tls: &TlsOut, found: &mut Vec<Diagnostic>) {
    let name = pool.name.as_str();
    let report = check_tls_out(tls);
    for error in &report.errors {
        let key = match error {
            TlsError::File { role: FileRole::Authorities, .. } => "ca",
            TlsError::File { .. } => "client-certificate",
            TlsError::ServerName(_) => "server-name",
            _ => "verify",
        };
        found.push(diagnostic(loaded, &["pool", name, "tls", key], &format!("pool {name}: tls"), error));
    }
    // The check of the text has already warned of `verify = false`.
    if tls.verify {
        for warning in report.warnings {
            let message = format!("pool {name}: tls: {warning}");
            found.push(loaded.warning_at(&["pool", name, "tls", "client-certificate"], message));
        }
    }
}

fn diagnostic(loaded: &Loaded, keys: &[&str], subject: &str, error: &TlsError) -> Diagnostic {
    let TlsError::UnknownCipher(cipher) = error else {
        return loaded.error_at(keys, format!("{subject}: {error}"));
    };
    let mut diagnostic = loaded.error_at(keys, format!("{subject}: unknown cipher {cipher:?}"));
    let names: Vec<_> = cipher_names().collect();
    diagnostic.help = Some(match closest(cipher, names.iter().copied()) {
        Some(close) => format!("did you mean {close:?}?"),
        None => format!("there are {}", names.join(", ")),
    });
    diagnostic
}

/// Returns the keys below `tls` of the file with the problem.
fn place_in(tls: &TlsIn, role: FileRole, path: &Path) -> Vec<String> {
    match role {
        FileRole::Authorities => return vec!["client-auth".to_owned(), "ca".to_owned()],
        FileRole::RevocationLists => return vec!["client-auth".to_owned(), "crl".to_owned()],
        FileRole::Certificate | FileRole::Key => {}
    }
    let is_it = |certificate: &weir_config::plan::Certificate| match role {
        FileRole::Key => certificate.key == path,
        _ => certificate.certificate == path,
    };
    let mut keys = vec!["certificates".to_owned()];
    if let Some(index) = tls.certificates.iter().position(is_it) {
        keys.push(index.to_string());
        keys.push(if role == FileRole::Key { "key".to_owned() } else { "certificate".to_owned() });
    }
    keys
}
