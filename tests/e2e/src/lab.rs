//! Runs `weir lab` in a directory with a scenario.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use weir_testkit::TempDir;

use crate::program;

/// A directory with a scenario in `tiny.toml`, in which `weir lab` runs.
#[derive(Debug)]
pub struct Lab {
    directory: TempDir,
    program: PathBuf,
}

/// The result of a finished `weir lab`.
#[derive(Debug)]
pub struct Said {
    /// Process id, which is part of the names that the lab creates.
    pub pid: u32,
    /// Output and exit status.
    pub output: Output,
}

impl Lab {
    /// Creates a lab with this scenario.
    pub fn new(scenario: &str) -> Self {
        let lab = Self { directory: TempDir::new().unwrap(), program: program().to_owned() };
        lab.write(scenario);
        lab
    }

    /// Replaces the program by a copy without symbols in this directory. The copy is much smaller, which
    /// matters if the lab sends it to other machines.
    pub fn strip(&mut self) {
        let stripped = self.path("weir");
        let status = Command::new("strip").arg("-o").arg(&stripped).arg(program()).status().unwrap();
        assert!(status.success(), "strip: {status}");
        self.program = stripped;
    }

    /// Replaces the scenario.
    pub fn write(&self, scenario: &str) {
        fs::write(self.path("tiny.toml"), scenario).unwrap();
    }

    /// Returns the directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the path of a file in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the text of a file in the directory.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|cause| panic!("{name}: {cause}"))
    }

    /// Returns a command for `weir lab` with these arguments in the directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("lab").args(arguments).current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    /// Runs `weir lab` until it ends.
    pub fn run(&self, arguments: &[&str]) -> Said {
        let mut command = self.command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Said { pid: child.id(), output: child.wait_with_output().unwrap() }
    }

    /// Starts `weir lab` and waits until this number of runs is over.
    pub fn start(&self, arguments: &[&str], runs: usize) -> Child {
        let mut child = self.command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let begins = format!("[{runs}/");
        let said = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with(&begins)));
        assert!(said.is_some(), "it ended before run {runs}");
        // The lab continues to write, so its output must be read.
        std::thread::spawn(move || lines.for_each(drop));
        child
    }

    /// Returns every run of a CSV file in the directory, with access to its columns by name.
    pub fn csv(&self, name: &str) -> Vec<Row> {
        let text = self.read(name);
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let head = lines.next().unwrap();
        lines.map(|fields| Row { head: head.clone(), fields }).collect()
    }
}

impl Said {
    /// Returns the text of standard output and standard error.
    pub fn text(&self) -> String {
        text(&self.output)
    }

    /// Parses standard output as JSON.
    pub fn json(&self) -> Value {
        let text = || self.text();
        serde_json::from_slice(&self.output.stdout).unwrap_or_else(|cause| panic!("{cause}: {}", text()))
    }

    /// Returns the exit status.
    pub fn code(&self) -> Option<i32> {
        self.output.status.code()
    }
}

/// Returns the text of both outputs of a program.
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A line of a CSV file.
#[derive(Debug)]
pub struct Row {
    head: Vec<String>,
    fields: Vec<String>,
}

impl Row {
    /// Returns the value of a column; empty if it has none.
    pub fn get(&self, column: &str) -> &str {
        let at = self.head.iter().position(|name| name == column);
        &self.fields[at.unwrap_or_else(|| panic!("no column {column}: {:?}", self.head))]
    }

    /// Returns the value of a column as a number.
    pub fn number(&self, column: &str) -> f64 {
        self.get(column).parse().unwrap_or_else(|cause| panic!("{column}: {cause}: {self:?}"))
    }
}
