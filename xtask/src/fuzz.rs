//! Builds and runs the targets of fuzz/ with libFuzzer on stable Rust: with coverage feedback, without
//! sanitizers (which need a nightly compiler). `make test` runs the same targets without libFuzzer, in the
//! test program fuzz/tests/replay.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::arguments::Arguments;
use crate::command;
use crate::content::named_by_content;
use crate::release::target_directory;
use crate::test::FEATURES;

/// Compiler wrapper in fuzz/ that Cargo runs for the crates of the workspace. It adds the counters through
/// which libFuzzer sees the code that an input reaches.
const COMPILER: &str = "counting-rustc.sh";

/// Default seed of the random inputs. It is fixed so that a failure comes from the change under test and can
/// be reproduced.
const SEED: u32 = 1;

/// Runs the command `fuzz [--seconds N] [--seed N] [TARGET...]`.
pub(crate) fn run(root: &Path, mut arguments: Arguments) -> Result<(), String> {
    let effort = Effort {
        seconds: number(&mut arguments, "--seconds", 30)?,
        seed: number(&mut arguments, "--seed", SEED)?,
    };
    let fuzz = root.join("fuzz");
    let Targets { all, first } = Targets::read(&fuzz.join("Cargo.toml"))?;
    let wanted = arguments.rest();
    if let Some(unknown) = wanted.iter().find(|name| !all.contains(name)) {
        return Err(format!("no fuzz target {unknown:?}: one of {}", all.join(", ")));
    }
    // Targets named on the command line run for the whole time.
    let (chosen, first) = if wanted.is_empty() { (all, first) } else { (wanted.clone(), wanted) };
    let work = target_directory(root).join("fuzz");
    let programs = build(root, &fuzz, &work, &chosen)?;

    // One target per core: a target is one thread.
    let at_once = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut failed = Vec::new();
    // Targets in one batch run for the same time.
    let (whole, third): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|name| first.contains(name));
    let batches = whole.chunks(at_once).map(|batch| (batch, effort.seconds));
    for (batch, seconds) in
        batches.chain(third.chunks(at_once).map(|batch| (batch, effort.seconds.div_ceil(3))))
    {
        println!("fuzz: {} for {seconds} s, seed {}", batch.join(", "), effort.seed);
        let effort = Effort { seconds, ..effort };
        let running = batch
            .iter()
            .map(|name| Run::start(&fuzz, &work, name, &programs[name], &effort))
            .collect::<Result<Vec<_>, _>>()?;
        for run in running {
            if let Err(why) = run.finish() {
                failed.push(why);
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// Duration and seed of each target's run.
#[derive(Clone, Copy)]
struct Effort {
    seconds: u32,
    /// Seed of the random inputs. 0 selects a different one for each run.
    seed: u32,
}

fn number(arguments: &mut Arguments, option: &str, default: u32) -> Result<u32, String> {
    let Some(text) = arguments.option(option)? else { return Ok(default) };
    text.parse().map_err(|error| format!("{option} {text}: {error}"))
}

/// Names of targets from the manifest of the fuzz package.
struct Targets {
    all: Vec<String>,
    /// Targets that run for the whole time. The others run for a third of it.
    first: Vec<String>,
}

impl Targets {
    fn read(manifest: &Path) -> Result<Self, String> {
        let at = manifest.display();
        let text = fs::read_to_string(manifest).map_err(|error| format!("{at}: {error}"))?;
        let table: toml::Table = text.parse().map_err(|error| format!("{at}: {error}"))?;
        let bins = table.get("bin").and_then(|bins| bins.as_array()).map_or(&[][..], Vec::as_slice);
        let all: Vec<_> =
            bins.iter().filter_map(|bin| bin.get("name")?.as_str()).map(str::to_owned).collect();
        let metadata =
            table.get("package").and_then(|it| it.get("metadata")?.get("fuzz")?.get("first")?.as_array());
        let first: Vec<_> =
            metadata.into_iter().flatten().filter_map(|name| name.as_str()).map(str::to_owned).collect();
        if all.is_empty() {
            return Err(format!("{at}: no [[bin]] in it"));
        }
        match first.iter().find(|name| !all.contains(name)) {
            Some(unknown) => Err(format!("{at}: metadata.fuzz.first: no target {unknown:?}")),
            None => Ok(Self { all, first }),
        }
    }
}

/// Compiles the targets and returns the paths of their programs, by name.
///
/// Compiles them as the tests are compiled: all packages with the features of tests. The dependencies are
/// then already built, which is most of the work.
fn build(
    root: &Path,
    fuzz: &Path,
    work: &Path,
    targets: &[String],
) -> Result<HashMap<String, PathBuf>, String> {
    let compiler = named_by_content(&fuzz.join(COMPILER), work)?;
    let mut cargo = command::cargo();
    cargo
        .current_dir(root)
        .env("RUSTC_WORKSPACE_WRAPPER", compiler)
        .args(["test", "--workspace", "--features", FEATURES, "--features", "weir-fuzz/targets", "--no-run"])
        .args(["--message-format", "json-render-diagnostics"])
        .args(targets.iter().flat_map(|name| ["--bin", name]));
    let messages = command::output_beside_errors(&mut cargo)?;
    let program_of = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        command::program_of(&message).map(|(name, path)| (name.to_owned(), path.to_owned()))
    };
    let programs: HashMap<_, _> = messages.lines().filter_map(program_of).collect();
    match targets.iter().find(|name| !programs.contains_key(*name)) {
        Some(missing) => Err(format!("{}: no program of {missing}", command::spelled(&cargo))),
        None => Ok(programs),
    }
}

/// Running fuzz target.
struct Run {
    name: String,
    child: std::process::Child,
    log: PathBuf,
    since: Instant,
}

impl Run {
    fn start(fuzz: &Path, work: &Path, name: &str, program: &Path, effort: &Effort) -> Result<Self, String> {
        // New inputs go to the first directory. The second is the committed corpus, which libFuzzer only
        // reads.
        let found = work.join("found").join(name);
        let corpus = fuzz.join("corpus").join(name);
        let artifacts = fuzz.join("artifacts").join(name);
        for directory in [&found, &corpus, &artifacts] {
            fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        }
        let log = work.join(format!("{name}.log"));
        let file = fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let mut program = Command::new(program);
        program
            .current_dir(fuzz)
            .arg(format!("-max_total_time={}", effort.seconds))
            .arg(format!("-seed={}", effort.seed))
            .args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"])
            .arg(format!("-artifact_prefix={}/", artifacts.display()))
            .args([&found, &corpus])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file);
        let child = program.spawn().map_err(|error| format!("fuzz target {name}: {error}"))?;
        Ok(Self { name: name.to_owned(), child, log, since: Instant::now() })
    }

    /// Waits for the target to end and prints how many inputs it tried.
    fn finish(self) -> Result<(), String> {
        let Self { name, mut child, log, since } = self;
        let status = child.wait().map_err(|error| format!("fuzz target {name}: {error}"))?;
        let said = fs::read_to_string(&log).unwrap_or_default();
        if !status.success() {
            let tail: Vec<_> = said.lines().rev().take(40).collect();
            let tail: Vec<_> = tail.into_iter().rev().collect();
            return Err(format!("fuzz target {name}: {status}\n{}", tail.join("\n")));
        }
        let tried = said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
        println!(
            "fuzz: {name}: {} inputs in {} s, no crash",
            tried.unwrap_or(" ?").trim(),
            since.elapsed().as_secs()
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_becomes_part_of_a_target_counts_what_an_input_reaches() {
        let compiler = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/counting-rustc.sh");
        let told = |arguments: &[&str]| {
            let output = Command::new(compiler).arg("echo").args(arguments).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert!(told(&["--crate-name", "weir_http"]).contains("-Cpasses=sancov-module"));
        for aside in [["--crate-name", "build_script_build"], ["--crate-type", "proc-macro"]] {
            assert_eq!(told(&aside), format!("{}\n", aside.join(" ")));
        }
    }
}
