//! Reports of tests that cannot run on this machine.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

/// Reports that the current test cannot check all or a part of its subject here, with the reason. The output
/// of a passing test is not shown. So the report is also appended to the file that `WEIR_UNTESTED` names,
/// whose lines `cargo xtask test` prints at its end.
pub fn untested(why: impl Display) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("{test}: {}", why.to_string().replace('\n', " "));
    eprintln!("not tested: {line}");
    if let Some(path) = std::env::var_os("WEIR_UNTESTED") {
        // Writes the line in one call, so that lines of several programs do not mix.
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())).unwrap();
    }
}
