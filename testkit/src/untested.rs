use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

/// Says that the test that is running cannot test here what it is there for, or a part of it, and why. Nobody sees what a test prints
/// that passes: so it is also a line in the file that `WEIR_UNTESTED` names, whose lines `cargo xtask test` shows at its end.
pub fn untested(why: impl Display) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("{test}: {}", why.to_string().replace('\n', " "));
    eprintln!("not tested: {line}");
    if let Some(path) = std::env::var_os("WEIR_UNTESTED") {
        // In one call, so that lines of several programs do not mix.
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())).unwrap();
    }
}
