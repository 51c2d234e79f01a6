//! Tests the hints for verbs of service managers, which Weir does not have.

use crate::{directory, err, weir};

#[test]
fn verbs_of_service_managers_are_answered_with_what_does_it() {
    let directory = directory();
    let cases = [
        ("start", "weir run CONFIG"),
        ("stop", "SIGTERM"),
        ("reload", "weir ctl reload"),
        ("restart", "weir ctl reload"),
        ("status", "weir ctl show"),
    ];
    for (verb, part) in cases {
        let output = weir(directory.path(), &[verb, "--now", "weir.toml"]);
        assert_eq!(output.status.code(), Some(2));
        let text = err(&output);
        assert!(text.contains(part) && text.contains(&format!("systemctl {verb} weir")), "{text}");
    }
}
