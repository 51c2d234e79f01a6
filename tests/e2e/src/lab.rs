use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use weir_testkit::TempDir;

use crate::program;

/// A directory with a scenario in it, `tiny.toml`, in which `weir lab` is run.
#[derive(Debug)]
pub struct Lab {
    directory: TempDir,
    program: PathBuf,
}

/// What a lab has said, when it is over.
#[derive(Debug)]
pub struct Said {
    /// The number of its process, which names what it makes.
    pub pid: u32,
    /// What it wrote, and how it ended.
    pub output: Output,
}

impl Lab {
    /// With this scenario.
    pub fn new(scenario: &str) -> Self {
        let lab = Self { directory: TempDir::new().unwrap(), program: program().to_owned() };
        lab.write(scenario);
        lab
    }

    /// From now on it runs a copy of the program, in its directory, that is without symbols: much smaller, where it is taken to other
    /// machines.
    pub fn strip(&mut self) {
        let stripped = self.path("weir");
        let status = Command::new("strip").arg("-o").arg(&stripped).arg(program()).status().unwrap();
        assert!(status.success(), "strip: {status}");
        self.program = stripped;
    }

    /// Another scenario in its place.
    pub fn write(&self, scenario: &str) {
        fs::write(self.path("tiny.toml"), scenario).unwrap();
    }

    /// Where everything is.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Of a file there.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The text of a file there.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|cause| panic!("{name}: {cause}"))
    }

    /// `weir lab` with these arguments, there.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("lab").args(arguments).current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Said {
        let mut command = self.command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Said { pid: child.id(), output: child.wait_with_output().unwrap() }
    }

    /// Starts it, and waits until so many runs are over.
    pub fn start(&self, arguments: &[&str], runs: usize) -> Child {
        let mut child = self.command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let begins = format!("[{runs}/");
        let said = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with(&begins)));
        assert!(said.is_some(), "it ended before run {runs}");
        // It goes on talking, and must not wait for somebody who listens.
        std::thread::spawn(move || lines.for_each(drop));
        child
    }

    /// Every run of a CSV file there, as its columns by name.
    pub fn csv(&self, name: &str) -> Vec<Row> {
        let text = self.read(name);
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let head = lines.next().unwrap();
        lines.map(|fields| Row { head: head.clone(), fields }).collect()
    }
}

impl Said {
    /// On both channels.
    pub fn text(&self) -> String {
        text(&self.output)
    }

    /// On standard output.
    pub fn json(&self) -> Value {
        let text = || self.text();
        serde_json::from_slice(&self.output.stdout).unwrap_or_else(|cause| panic!("{cause}: {}", text()))
    }

    /// Its exit status.
    pub fn code(&self) -> Option<i32> {
        self.output.status.code()
    }
}

/// What a program wrote on both channels.
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
    /// The value of a column; empty if it has none.
    pub fn get(&self, column: &str) -> &str {
        let at = self.head.iter().position(|name| name == column);
        &self.fields[at.unwrap_or_else(|| panic!("no column {column}: {:?}", self.head))]
    }

    /// As a number.
    pub fn number(&self, column: &str) -> f64 {
        self.get(column).parse().unwrap_or_else(|cause| panic!("{column}: {cause}: {self:?}"))
    }
}
