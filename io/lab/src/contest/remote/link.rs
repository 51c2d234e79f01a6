//! The connection to another machine: one `ssh`, over which first the program of Weir goes, then questions and answers.

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

/// The connection.
#[derive(Debug)]
pub(super) struct Link {
    ssh: Child,
    /// `None` = it is being ended.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// What ssh complains about.
    complaints: File,
    /// Whoever takes nothing and says nothing for so long is stuck.
    silence_max: Duration,
    /// It was: what there is to say of it, however often it is asked again.
    stuck: Option<String>,
}

/// More lines than this nobody's login greets with.
const GREETINGS_MAX: usize = 200;
/// What an agent may take to end what it has started; a machine under heavy load gets time.
const END_MAX: Duration = Duration::from_secs(20);
/// So much a pipe that has room takes at once (PIPE_BUF, pipe(7)).
const PIECE_BYTES: usize = 4_096;

/// What the other machine's shell does: puts the first bytes that come into a file of its own, starts that, and takes it away when it
/// has ended. In quotes that every login shell understands.
fn script(program_bytes: u64) -> String {
    format!(
        "exec sh -c 'd=$(mktemp -d \"${{TMPDIR:-/tmp}}/weir-lab-program-XXXXXX\") || exit 1; trap \"rm -rf \\\"$d\\\"\" EXIT; \
         trap \"exit 1\" HUP INT TERM; head -c {program_bytes} >\"$d/weir\" && chmod 755 \"$d/weir\" && \"$d/weir\" lab agent'"
    )
}

impl Link {
    /// Connects, and takes `own` there: the program of Weir.
    ///
    /// # Errors
    /// It cannot be reached, does not take the program, or is silent for longer than `silence_max`; the text has what ssh said.
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
        // Nobody is there to be asked, and a machine that has gone is noticed within seconds.
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
        // A group of its own: Ctrl-C in the terminal is for the lab, which ends the others in order.
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

    /// What the agent says first. Logins may greet before.
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

    /// Sends all of it, and says how many bytes that were.
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

    /// The next line, without its end.
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

    /// With what ssh, or the other machine's shell, has said of it.
    fn lost(&self, cause: &str) -> String {
        let said = self.complained();
        if said.is_empty() { cause.to_owned() } else { said }
    }

    /// It is stuck, and not waited for any more: the connection ends. If its agent ever goes on, it sees that, and ends, too.
    fn silent(&mut self) -> String {
        self.input = None;
        let _ = self.ssh.kill();
        let said = self.complained();
        // What ssh has said before may be a greeting, and does not tell why.
        let said = if said.is_empty() { said } else { format!("; ssh had said: {said}") };
        let text = format!("no answer within {:?}{said}", self.silence_max);
        self.stuck = Some(text.clone());
        text
    }

    /// The end of what ssh has said.
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
        // The agent sees the end of it, and ends.
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

/// Waits until something comes, or can be sent; false = it did not within this time.
fn is_ready(what: impl AsFd, flags: PollFlags, within: Duration) -> bool {
    let until = Instant::now() + within;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else { return true };
        match poll(&mut [PollFd::new(&what, flags)], Some(&left)) {
            Err(Errno::INTR) => {}
            // What else is wrong is told by whoever reads or writes next.
            ready => return ready != Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_testkit::{PATIENCE, wait_until};

    use super::*;

    /// A shell in place of ssh.
    fn link(script: &str) -> Link {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Link::start(command, PATIENCE).unwrap()
    }

    const MOMENT: Duration = Duration::from_millis(50);

    #[test]
    fn a_machine_that_does_not_answer_is_waited_for_as_long_as_was_said_and_left() {
        // It stops in the middle of an answer.
        let mut link = link("echo 'welcome' >&2; printf '{}\\n{\"done\":'; exec sleep 600");
        assert_eq!(link.line().unwrap(), "{}");
        link.silence_max = MOMENT;
        let said = link.exchange(&Ask::Calibrate).unwrap_err();
        assert_eq!(said, "no answer within 50ms; ssh had said: welcome");
        // Nobody waits for it at the end, and nothing more is asked.
        wait_until("the end of ssh", PATIENCE, || link.ssh.try_wait().unwrap().is_some());
        assert_eq!(link.exchange(&Ask::Calibrate).unwrap_err(), said);
    }

    #[test]
    fn a_machine_that_takes_nothing_is_left_as_well() {
        let mut link = link("exec sleep 600");
        link.silence_max = MOMENT;
        // More than the pipe to it holds.
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
