//! A check by another user than the service's: files that this user may not read are not missing, and say nothing about the
//! config.

use std::path::Path;

use rustix::process::geteuid;
use weir_config::{Diagnostic, Loaded, Severity};

use super::{Depth, Refusal, prove_by};

/// Like [`prove`](super::prove), with a warning in place of each error that comes of this user's rights alone. The service
/// itself is started and reloaded without this leniency.
pub(super) fn prove(config: &Path, depth: Depth) -> Result<Loaded, Refusal> {
    let uid = geteuid();
    if uid.is_root() {
        return super::prove(config, depth);
    }
    prove_by(config, depth, |found| found.into_iter().map(|one| told(one, uid.as_raw())).collect())
}

fn told(mut diagnostic: Diagnostic, uid: u32) -> Diagnostic {
    // As the standard library writes EACCES: the errors come from many files, most of them as text.
    if diagnostic.severity != Severity::Error
        || !diagnostic.message.contains("Permission denied (os error 13)")
    {
        return diagnostic;
    }
    diagnostic.severity = Severity::Warning;
    diagnostic.message.push_str("; not checked");
    diagnostic.help = Some(format!(
        "the user of this check (uid {uid}) may not read it: check as the service's user, `sudo -u weir weir check`, or as root"
    ));
    diagnostic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_not_be_read_becomes_a_warning() {
        let source = weir_config::Source::new("a.toml", "x = 1");
        let error = |text: &str| Diagnostic::in_text(Severity::Error, text.to_owned(), &source, 0..1);
        let denied = told(error("key /k: Permission denied (os error 13)"), 1000);
        assert_eq!(denied.severity, Severity::Warning);
        assert!(denied.help.unwrap().contains("uid 1000"));
        let missing = told(error("key /k: No such file or directory (os error 2)"), 1000);
        assert_eq!(missing.severity, Severity::Error);
    }
}
