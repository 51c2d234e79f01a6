//! The connection to another machine: one `ssh` that first transfers the program of Weir, then requests and
//! responses.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::words::{Answer, Ask, Hello};

/// Connection to another machine.
#[derive(Debug)]
pub(super) struct Link {
    ssh: Child,
    /// Input of ssh; `None` = the connection is being closed.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Standard error of ssh.
    complaints: File,
    /// Time without any progress after which the machine counts as stuck.
    silence_max: Duration,
    /// Error text of a stuck machine, which all further requests return.
    stuck: Option<String>,
}

/// Maximum number of lines that a login may print before the agent starts.
const GREETINGS_MAX: usize = 200;
/// Maximum time for an agent to end what it has started. A busy machine needs more time.
const END_MAX: Duration = Duration::from_secs(20);
/// Number of bytes that a pipe with room accepts at once (PIPE_BUF, pipe(7)).
const PIECE_BYTES: usize = 4_096;

/// Returns the script for the remote shell. It writes the first bytes of the input to a file, runs that file,
/// and removes it after its end. Every login shell understands its quotes.
fn script(program_bytes: u64) -> String {
    format!(
        "exec sh -c 'd=$(mktemp -d \"${{TMPDIR:-/tmp}}/weir-lab-program-XXXXXX\") || exit 1; trap \"rm -rf \\\"$d\\\"\" EXIT; \
         trap \"exit 1\" HUP INT TERM; head -c {program_bytes} >\"$d/weir\" && chmod 755 \"$d/weir\" && \"$d/weir\" lab agent'"
    )
}

impl Link {
    /// Connects, and copies `own` to the machine: the program of Weir.
    ///
    /// # Errors
    /// If the machine cannot be reached, does not accept the program, or is silent for longer than
    /// `silence_max`. The text contains the output of ssh.
    pub(super) fn open(
        destination: &str,
        config: Option<&Path>,
        own: &Path,
        silence_max: Duration,
    ) -> Result<Self, String> {
        let failed = |cause: io::Error| format!("the program of Weir: {cause}");
        let mut program = File::open(own).map_err(failed)?;
        let size = program.metadata().map_err(failed)?.len();
        let mut command = Command::new("ssh");
        // Disables prompts, because no user can answer them, and detects a lost machine within seconds.
        for option in ["BatchMode=yes", "ConnectTimeout=15", "ServerAliveInterval=5", "ServerAliveCountMax=3"]
        {
            command.args(["-o", option]);
        }
        if let Some(config) = config {
            command.arg("-F").arg(config);
        }
        command.args(["-T", "--", destination, &script(size)]);
        let mut link = Self::start(command, silence_max)?;
        match link.send(&mut program)? {
            bytes if bytes == size => Ok(link),
            _ => Err("the program of Weir has changed meanwhile".to_owned()),
        }
    }

    fn start(mut command: Command, silence_max: Duration) -> Result<Self, String> {
        let failed = |what: &'static str| move |cause: io::Error| format!("{what}: {cause}");
        let complaints = tempfile::tempfile().map_err(failed("a temporary file"))?;
        let stderr = complaints.try_clone().map_err(failed("a temporary file"))?;
        // A separate process group: Ctrl-C in the terminal must reach only the lab, which ends the others in
        // order.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).process_group(0);
        let mut ssh = command.spawn().map_err(failed("ssh"))?;
        let (Some(input), Some(output)) = (ssh.stdin.take(), ssh.stdout.take()) else {
            return Err("ssh: has no pipes".to_owned());
        };
        Ok(Self {
            ssh,
            input: Some(input),
            output: BufReader::new(output),
            complaints,
            silence_max,
            stuck: None,
        })
    }

    /// Reads the first message of the agent. The login may print other lines before.
    pub(super) fn greeting(&mut self) -> Result<Hello, String> {
        for _ in 0..GREETINGS_MAX {
            if let Ok(hello) = serde_json::from_str(&self.line()?) {
                return Ok(hello);
            }
        }
        Err("Weir does not start there: its login says too much".to_owned())
    }

    pub(super) fn exchange(&mut self, ask: &Ask) -> Result<Answer, String> {
        let text = serde_json::to_string(ask).map_err(|cause| cause.to_string())?;
        self.send(&mut format!("{text}\n").as_bytes())?;
        let line = self.line()?;
        serde_json::from_str(&line).map_err(|cause| format!("{cause}: {line}"))
    }

    /// Sends the whole content and returns the number of bytes.
    fn send(&mut self, content: &mut dyn Read) -> Result<u64, String> {
        let mut piece = [0; PIECE_BYTES];
        let mut sent = 0;
        loop {
            let length = match content.read(&mut piece) {
                Ok(0) => return Ok(sent),
                Ok(length) => length,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(format!("the program of Weir: {cause}")),
            };
            let Some(input) = &mut self.input else {
                return Err(self.stuck.clone().unwrap_or_else(|| "is being left".to_owned()));
            };
            if !is_ready(&*input, PollFlags::OUT, self.silence_max) {
                return Err(self.silent());
            }
            let written = input.write_all(&piece[..length]);
            written.map_err(|cause| self.lost(&cause.to_string()))?;
            sent += length as u64;
        }
    }

    /// Returns the next line without its end.
    fn line(&mut self) -> Result<String, String> {
        let mut line = Vec::new();
        loop {
            let is_there = !self.output.buffer().is_empty();
            if !is_there && !is_ready(self.output.get_ref(), PollFlags::IN, self.silence_max) {
                return Err(self.silent());
            }
            let filled = self.output.fill_buf().map(<[u8]>::to_vec);
            let more = match filled {
                Ok(more) if more.is_empty() => return Err(self.lost("the connection has ended")),
                Ok(more) => more,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(self.lost(&cause.to_string())),
            };
            let end = more.iter().position(|byte| *byte == b'\n');
            line.extend_from_slice(&more[..end.unwrap_or(more.len())]);
            self.output.consume(end.map_or(more.len(), |end| end + 1));
            if end.is_some() {
                return String::from_utf8(line).map_err(|cause| self.lost(&cause.to_string()));
            }
        }
    }

    /// Returns the error text of ssh or the remote shell, or else `cause`.
    fn lost(&self, cause: &str) -> String {
        let said = self.complained();
        if said.is_empty() { cause.to_owned() } else { said }
    }

    /// Closes the connection of a stuck machine and returns the error text. If its agent ever continues, it
    /// sees the end and ends, too.
    fn silent(&mut self) -> String {
        self.input = None;
        let _ = self.ssh.kill();
        let said = self.complained();
        // Earlier output of ssh may be a greeting and not the cause.
        let said = if said.is_empty() { said } else { format!("; ssh had said: {said}") };
        let text = format!("no answer within {:?}{said}", self.silence_max);
        self.stuck = Some(text.clone());
        text
    }

    /// Returns the end of the output of ssh.
    fn complained(&self) -> String {
        let mut said = vec![0; 4096];
        let length = self.complaints.metadata().map_or(0, |metadata| metadata.len());
        let from = length.saturating_sub(said.len() as u64);
        let filled = self.complaints.read_at(&mut said, from).unwrap_or(0);
        String::from_utf8_lossy(&said[..filled]).trim().to_owned()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The agent sees the end of its input and ends.
        self.input = None;
        let until = Instant::now() + END_MAX;
        while let Ok(None) = self.ssh.try_wait() {
            if Instant::now() > until {
                let _ = self.ssh.kill();
                let _ = self.ssh.wait();
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Waits until data can be read or sent. Returns false if the time is over before.
fn is_ready(what: impl AsFd, flags: PollFlags, within: Duration) -> bool {
    let until = Instant::now() + within;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else { return true };
        match poll(&mut [PollFd::new(&what, flags)], Some(&left)) {
            Err(Errno::INTR) => {}
            // The next read or write reports other errors.
            ready => return ready != Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_testkit::{PATIENCE, wait_until};

    use super::*;

    /// Returns a link with a shell in place of ssh.
    fn link(script: &str) -> Link {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Link::start(command, PATIENCE).unwrap()
    }

    const MOMENT: Duration = Duration::from_millis(50);

    #[test]
    fn a_machine_that_does_not_answer_is_waited_for_as_long_as_was_said_and_left() {
        // The agent stops in the middle of a response.
        let mut link = link("echo 'welcome' >&2; printf '{}\\n{\"done\":'; exec sleep 600");
        assert_eq!(link.line().unwrap(), "{}");
        link.silence_max = MOMENT;
        let said = link.exchange(&Ask::Calibrate).unwrap_err();
        assert_eq!(said, "no answer within 50ms; ssh had said: welcome");
        // ssh has been killed, and further requests fail at once.
        wait_until("the end of ssh", PATIENCE, || link.ssh.try_wait().unwrap().is_some());
        assert_eq!(link.exchange(&Ask::Calibrate).unwrap_err(), said);
    }

    #[test]
    fn a_machine_that_takes_nothing_is_left_as_well() {
        let mut link = link("exec sleep 600");
        link.silence_max = MOMENT;
        // More than the pipe to the shell can hold.
        let said = link.send(&mut io::repeat(0).take(1 << 24)).unwrap_err();
        assert_eq!(said, "no answer within 50ms");
    }

    #[test]
    fn lines_come_whole_however_they_were_sent() {
        let mut link = link("for part in a b 'c\\n\\nd'; do printf \"$part\"; done; cat");
        assert_eq!((link.line().unwrap(), link.line().unwrap()), ("abc".to_owned(), String::new()));
        let long = "x".repeat(PIECE_BYTES * 3);
        link.send(&mut format!("{long}\n").as_bytes()).unwrap();
        assert_eq!(link.line().unwrap(), format!("d{long}"));
        link.input = None;
        assert_eq!(link.line().unwrap_err(), "the connection has ended");
    }

    #[test]
    fn the_script_is_one_that_a_shell_takes_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let program = b"#!/bin/sh\necho \"$0 $1 $2\"; cat\n";
        let mut shell = Command::new("sh")
            .args(["-c", &script(program.len() as u64)])
            .env("TMPDIR", directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = shell.stdin.take().unwrap();
        input.write_all(program).unwrap();
        input.write_all(b"a question\n").unwrap();
        drop(input);
        let output = shell.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = said.lines().collect();
        assert!(output.status.success() && lines[0].ends_with("/weir lab agent"), "{said}");
        assert_eq!(lines[1], "a question");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "the program is gone");
    }
}
