//! Turns errors about files that this user may not read into warnings. The service's user may be able to read
//! them, so they say nothing about the config.

use std::path::Path;

use rustix::process::geteuid;
use weir_config::{Diagnostic, Loaded, Severity};

use super::{Depth, Refusal, prove_by};

/// Checks a config like [`prove`](super::prove), but turns each error that comes only from this user's
/// permissions into a warning. The start of the service is not lenient.
pub(super) fn prove(config: &Path, depth: Depth) -> Result<Loaded, Refusal> {
    let uid = geteuid();
    let help = format!(
        "the user of this check (uid {uid}) may not read it: check as the service's user, `sudo -u weir weir check`, or as root",
        uid = uid.as_raw()
    );
    if uid.is_root() {
        return super::prove(config, depth);
    }
    prove_by(config, depth, |found| found.into_iter().map(|one| told(one, &help)).collect())
}

/// Checks a config for a reload. Only errors about files of listeners and pools become warnings: a process
/// that has switched to another user may still have the content of these files in memory. If it does not, the
/// reload fails when it needs the content.
pub(crate) fn prove_for_reload(config: &Path) -> Result<Loaded, Refusal> {
    let help = "the user of the process may not read it: let it, or restart Weir";
    prove_by(config, Depth::Files, |found| {
        let of_parts =
            |one: &Diagnostic| one.message.starts_with("listener ") || one.message.starts_with("pool ");
        found.into_iter().map(|one| if of_parts(&one) { told(one, help) } else { one }).collect()
    })
}

fn told(mut diagnostic: Diagnostic, help: &str) -> Diagnostic {
    // Text of EACCES in the standard library. The errors come from many files, most of them as text.
    if diagnostic.severity != Severity::Error
        || !diagnostic.message.contains("Permission denied (os error 13)")
    {
        return diagnostic;
    }
    diagnostic.severity = Severity::Warning;
    diagnostic.message.push_str("; not checked");
    diagnostic.help = Some(help.to_owned());
    diagnostic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_not_be_read_becomes_a_warning() {
        let source = weir_config::Source::new("a.toml", "x = 1");
        let error = |text: &str| Diagnostic::in_text(Severity::Error, text.to_owned(), &source, 0..1);
        let denied = told(error("key /k: Permission denied (os error 13)"), "as root");
        assert_eq!(denied.severity, Severity::Warning);
        assert_eq!(denied.help.as_deref(), Some("as root"));
        let missing = told(error("key /k: No such file or directory (os error 2)"), "as root");
        assert_eq!(missing.severity, Severity::Error);
    }
}
