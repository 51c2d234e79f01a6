//! Takes the profile by which releases are laid out: a build that counts how often each branch is taken, load on it, and all
//! counts in one file.

mod site;
mod training;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::Arguments;
use crate::command;
use crate::release::{self, PROFILE, PROFILE_OF};

/// Fills memory with one instruction in a release, and byte by byte in a build that counts: most of all counts would be its own, and
/// what is called for each request would look cold beside it.
const FILLS_MEMORY: &str = "alloc3vec16Vec.*6resize";

/// `profile [--instrumented FILE]`.
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
    // Functions that the training did not reach are left out, as nothing is known of them: with a count of nought they
    // would be built to be small.
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

/// The program, built to count. In a directory of its own: nobody shall run it by mistake.
fn instrumented(root: &Path, directory: &Path) -> Result<PathBuf, String> {
    let unwanted = directory.join("unwanted");
    let mut flag = OsString::from("-Cprofile-generate=");
    flag.push(&unwanted);
    let program = release::build(root, &directory.join("build"), &[&flag as &OsStr])?;
    // What build scripts and macros counted of themselves.
    let _ = fs::remove_dir_all(unwanted);
    Ok(program)
}

/// The compiler's own merger of counts: those of another LLVM may not know the format.
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

/// An empty directory.
fn fresh(directory: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}
