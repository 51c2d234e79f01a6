//! Takes the profile for profile-guided optimization of releases. Builds a program that counts its branches,
//! puts load on it, and merges the counts into one file.

mod site;
mod training;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::Arguments;
use crate::command;
use crate::release::{self, PROFILE, PROFILE_OF};

/// Function left out of the profile. It fills memory: with one instruction in a release, but byte by byte in
/// the instrumented build. Its counts would exceed all others, and the code that runs for each request would
/// look cold.
const FILLS_MEMORY: &str = "alloc3vec16Vec.*6resize";

/// Runs the command `profile [--instrumented FILE]`.
pub(crate) fn run(root: &Path, mut arguments: Arguments) -> Result<(), String> {
    let program = arguments.option("--instrumented")?.map(PathBuf::from);
    arguments.finish()?;
    let merger = llvm_profdata()?;
    let directory = release::target_directory(root).join("profile");
    let program = match program {
        Some(program) => program,
        None => instrumented(root, &directory)?,
    };

    let counts = directory.join("counts");
    fresh(&counts)?;
    training::run(&program, &directory.join("site"), &counts)?;

    let mut merge = Command::new(merger);
    // `--sparse` leaves out functions that the training did not reach. With a count of 0 the compiler would
    // optimize them for size.
    merge
        .args(["merge", "--sparse", "--no-function", FILLS_MEMORY, "--output"])
        .arg(root.join(PROFILE))
        .arg(&counts);
    command::run(&mut merge)?;
    let of = root.join(PROFILE_OF);
    fs::write(&of, format!("{}\n", release::fingerprint(root)?))
        .map_err(|error| format!("{}: {error}", of.display()))?;
    println!("{PROFILE} is written: `make release` builds by it");
    Ok(())
}

/// Builds the instrumented program, in its own directory so that it is not run by mistake.
fn instrumented(root: &Path, directory: &Path) -> Result<PathBuf, String> {
    let unwanted = directory.join("unwanted");
    let mut flag = OsString::from("-Cprofile-generate=");
    flag.push(&unwanted);
    let program = release::build(root, &directory.join("build"), &[&flag as &OsStr])?;
    // Counts of build scripts and macros, which are not part of the profile.
    let _ = fs::remove_dir_all(unwanted);
    Ok(program)
}

/// Returns the path of the compiler's own `llvm-profdata`. That of another LLVM version may not know the
/// format.
fn llvm_profdata() -> Result<PathBuf, String> {
    let sysroot = command::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let path =
        Path::new(sysroot.trim()).join("lib/rustlib").join(env!("XTASK_TARGET")).join("bin/llvm-profdata");
    if !path.exists() {
        command::run(Command::new("rustup").args(["component", "add", "llvm-tools"]))?;
    }
    if path.exists() {
        Ok(path)
    } else {
        Err(format!("{}: not there (rustup's component llvm-tools)", path.display()))
    }
}

/// Makes `directory` exist and be empty.
fn fresh(directory: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}
