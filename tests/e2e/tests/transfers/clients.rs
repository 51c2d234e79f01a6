//! Tests with common programs for third-party copies, from Debian's packages. A missing program fails its
//! test: `scripts/setup test` installs all of them.

use std::process::{Command, Output};

use crate::{Site, pattern};

#[track_caller]
pub(crate) fn run(program: &str, arguments: &[&str]) -> Output {
    let output = Command::new(program).args(arguments).output();
    output.unwrap_or_else(|error| panic!("{program}: {error}: run `scripts/setup test`"))
}

#[track_caller]
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {told}");
    told
}

#[test]
fn davix_has_files_pushed_and_pulled() {
    let (one, two) = (Site::new(), Site::new());
    let content = pattern(3_000_000);
    one.write("f", &content);
    succeeds("davix-cp", &["--copy-mode", "push", &one.url("/f"), &two.url("/pushed")]);
    assert!(two.read("pushed").unwrap() == content);
    succeeds("davix-cp", &["--copy-mode", "pull", &one.url("/f"), &two.url("/pulled")]);
    assert!(two.read("pulled").unwrap() == content);
    let missing = run("davix-cp", &["--copy-mode", "pull", &one.url("/missing"), &two.url("/none")]);
    assert!(!missing.status.success());
    two.settles(&["pulled", "pushed"]);
}

/// Copies with gfal2, the library that FTS uses. The script disables its fallback, which would send the bytes
/// through the client.
const GFAL: &str = "\
import gfal2, sys
gfal2.set_verbose(gfal2.verbose_level.warning)
context = gfal2.creat_context()
context.set_opt_boolean('HTTP PLUGIN', 'INSECURE', True)
context.set_opt_string('HTTP PLUGIN', 'DEFAULT_COPY_MODE', sys.argv[1])
context.set_opt_boolean('HTTP PLUGIN', 'ENABLE_FALLBACK_TPC_COPY', False)
context.set_opt_boolean('HTTP PLUGIN', 'ENABLE_STREAM_COPY', False)
parameters = context.transfer_parameters()
parameters.overwrite = True
parameters.timeout = 60
parameters.nbstreams = 2
parameters.set_checksum(gfal2.checksum_mode.both, 'ADLER32', '')
context.filecopy(parameters, sys.argv[2], sys.argv[3])
";

#[test]
fn gfal2_has_files_pushed_and_pulled_and_compares_their_checksums() {
    let (one, two) = (Site::new(), Site::new());
    let content = pattern(3_000_000);
    one.write("f", &content);
    for (mode, name) in [("3rd push", "pushed"), ("3rd pull", "pulled")] {
        let to = two.url(&format!("/{name}"));
        succeeds("/usr/bin/python3", &["-c", GFAL, mode, &one.url("/f"), &to]);
        assert!(two.read(name).unwrap() == content, "{mode}");
    }
}
