//! Lists the test programs of the workspace that Cargo has built.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::command;

/// One test program (an executable with libtest's main function).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TestProgram {
    /// Name in the log: the package's directory, and the test target or source file within it.
    pub(super) name: String,
    pub(super) executable: PathBuf,
    /// Directory of the package, in which Cargo starts its test programs.
    pub(super) package: PathBuf,
    /// True if the program measures, so that no other program may run beside it.
    pub(super) is_alone: bool,
}

/// Programs that Cargo has built.
pub(crate) struct Built {
    pub(super) programs: Vec<TestProgram>,
    /// Program under test. Tests of other packages would otherwise build it once more, with other features of
    /// its dependencies.
    pub(super) weir: Option<PathBuf>,
}

impl Built {
    /// Builds everything that this `cargo test` would run.
    ///
    /// # Errors
    /// If it does not compile, builds no test program, or a manifest cannot be read. Also if a package's
    /// `metadata.test.alone` names a target that does not exist.
    pub(super) fn by(mut cargo_test: Command) -> Result<Self, String> {
        cargo_test.args(["--no-run", "--message-format", "json-render-diagnostics"]);
        let messages = command::output_beside_errors(&mut cargo_test)?;
        Self::of_messages(&messages).map_err(|why| format!("{}: {why}", command::spelled(&cargo_test)))
    }

    fn of_messages(messages: &str) -> Result<Self, String> {
        let mut programs = messages.lines().filter_map(TestProgram::of_message).collect::<Vec<_>>();
        if programs.is_empty() {
            // Running no test would count as success.
            return Err("it names no test program".to_owned());
        }
        // End-to-end tests start first: they wait most of their time, and the others run meanwhile.
        programs.sort_by(|a, b| (!a.is_end_to_end(), &a.name).cmp(&(!b.is_end_to_end(), &b.name)));
        mark_alone(&mut programs)?;
        let weir = messages.lines().find_map(|line| executable(&serde_json::from_str(line).ok()?, "weir"));
        Ok(Self { programs, weir })
    }
}

/// Returns the path of the program with this name, if the message reports it. Ignores the program of its own
/// unit tests.
fn executable(message: &Value, name: &str) -> Option<PathBuf> {
    let (found, path) = command::program_of(message)?;
    (found == name && message["profile"]["test"] == false).then(|| path.to_owned())
}

impl TestProgram {
    /// Returns the test program that a line of Cargo's output reports, if it reports one.
    fn of_message(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
        let executable = message["executable"].as_str().filter(|_| is_test)?;
        let package = Path::new(message["manifest_path"].as_str()?).parent()?;
        let target = &message["target"];
        let own = package.file_name()?.to_string_lossy();
        let is_integration = target["kind"].as_array()?.iter().any(|kind| kind == "test");
        let name = match is_integration {
            true => format!("{own} tests/{}", target["name"].as_str()?),
            // A package may have unit tests of a library and of a program.
            false => {
                let source = Path::new(target["src_path"].as_str()?);
                format!("{own} {}", source.strip_prefix(package).unwrap_or(source).display())
            }
        };
        Some(Self { name, executable: executable.into(), package: package.into(), is_alone: false })
    }

    /// Returns a command that starts the program as Cargo does.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.package).env("CARGO_MANIFEST_DIR", &self.package);
        command
    }

    /// Returns the name for use in file names.
    pub(super) fn file_name(&self) -> String {
        self.name.replace([' ', '/'], "-")
    }

    fn is_end_to_end(&self) -> bool {
        self.package.ends_with("tests/e2e")
    }

    fn is_of(&self, package: &Path, target: &str) -> bool {
        self.package == package && self.name.ends_with(&format!(" tests/{target}"))
    }
}

/// Marks the programs that `package.metadata.test.alone` of their manifests names.
fn mark_alone(programs: &mut [TestProgram]) -> Result<(), String> {
    let mut packages: Vec<_> = programs.iter().map(|program| program.package.clone()).collect();
    packages.sort();
    packages.dedup();
    for package in packages {
        for target in alone(&package)? {
            let mut named = programs.iter_mut().filter(|program| program.is_of(&package, &target)).peekable();
            if named.peek().is_none() {
                let manifest = package.join("Cargo.toml");
                return Err(format!(
                    "{}: metadata.test.alone: no test program {target:?}",
                    manifest.display()
                ));
            }
            named.for_each(|program| program.is_alone = true);
        }
    }
    Ok(())
}

fn alone(package: &Path) -> Result<Vec<String>, String> {
    let manifest = package.join("Cargo.toml");
    let at = manifest.display();
    let text = std::fs::read_to_string(&manifest).map_err(|error| format!("{at}: {error}"))?;
    let table: toml::Table = text.parse().map_err(|error| format!("{at}: {error}"))?;
    let named = table.get("package").and_then(|it| it.get("metadata")?.get("test")?.get("alone")?.as_array());
    Ok(named.into_iter().flatten().filter_map(|name| name.as_str()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEGRATION: &str = r#"{"reason":"compiler-artifact","manifest_path":"/w/io/net/Cargo.toml","target":{"kind":["test"],"name":"listen","src_path":"/w/io/net/src/lib.rs"},"profile":{"test":true},"executable":"/w/target/debug/deps/listen-1"}"#;

    fn program(name: &str) -> TestProgram {
        TestProgram {
            name: name.to_owned(),
            executable: PathBuf::new(),
            package: PathBuf::new(),
            is_alone: false,
        }
    }

    #[test]
    fn a_test_program_is_what_cargo_says_was_built_for_tests_and_can_be_run() {
        let found = TestProgram::of_message(INTEGRATION).unwrap();
        assert_eq!(
            found,
            TestProgram {
                executable: "/w/target/debug/deps/listen-1".into(),
                package: "/w/io/net".into(),
                ..program("net tests/listen")
            }
        );
        let unit = INTEGRATION.replace("\"test\"]", "\"lib\"]");
        assert_eq!(TestProgram::of_message(&unit).unwrap().name, "net src/lib.rs");
        for other in [
            INTEGRATION.replace("\"test\":true", "\"test\":false"),
            INTEGRATION.replace("\"/w/target/debug/deps/listen-1\"", "null"),
            INTEGRATION.replace("compiler-artifact", "build-script-executed"),
            "running 3 tests".to_owned(),
        ] {
            assert_eq!(TestProgram::of_message(&other), None, "{other}");
        }
    }

    #[test]
    fn that_nothing_was_built_is_no_success() {
        let other = INTEGRATION.replace("compiler-artifact", "build-finished");
        assert_eq!(Built::of_messages(&other).err().as_deref(), Some("it names no test program"));
    }

    #[test]
    fn the_program_under_test_is_not_the_one_of_its_own_tests() {
        let program = INTEGRATION.replace("\"test\"]", "\"bin\"]").replace("\"listen\"", "\"weir\"");
        let found = |text: &str| executable(&serde_json::from_str(text).unwrap(), "weir");
        assert_eq!(found(&program), None);
        let program = program.replace("\"test\":true", "\"test\":false");
        assert_eq!(found(&program), Some("/w/target/debug/deps/listen-1".into()));
        assert_eq!(found(&program.replace("\"weir\"", "\"weir-bench\"")), None);
    }

    #[test]
    fn who_measures_is_named_in_the_manifest_and_must_exist() {
        let package = tempfile::tempdir().unwrap();
        let write = |alone: &str| {
            let manifest = format!("[package]\nname = \"p\"\n[package.metadata.test]\nalone = {alone}\n");
            std::fs::write(package.path().join("Cargo.toml"), manifest).unwrap();
        };
        let in_package = |name| TestProgram { package: package.path().into(), ..program(name) };
        let mut programs = ["p tests/load", "p tests/overload", "p src/lib.rs"].map(in_package);
        write("[\"load\"]");
        mark_alone(&mut programs).unwrap();
        assert_eq!(programs.each_ref().map(|program| program.is_alone), [true, false, false]);
        write("[\"laod\"]");
        let refused = mark_alone(&mut programs).unwrap_err();
        assert!(refused.ends_with("Cargo.toml: metadata.test.alone: no test program \"laod\""), "{refused}");
    }
}
