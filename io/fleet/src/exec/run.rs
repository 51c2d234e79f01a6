//! A single call of the program.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::ExecSettings;
use super::contract::{Request, Response};
use crate::{Failure, FailureKind};

/// Maximum size of a response; enough for some 10,000 machines.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// Maximum size of the end of standard error that is kept for the error message.
const COMPLAINT_BYTES_MAX: usize = 1024;

/// Time from SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// Runs the program to its end and reads its response.
pub(super) async fn run(settings: &ExecSettings, request: &Request<'_>) -> Result<Response, Failure> {
    let (program, arguments) = settings
        .command
        .split_first()
        .ok_or_else(|| Failure::new(FailureKind::Permanent, "the command is empty"))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .arg(request.name())
        .envs(settings.environment.iter().map(|(name, value)| (name, value)))
        .process_group(0)
        .kill_on_drop(true)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(directory) = &settings.working_directory {
        command.current_dir(directory);
    }
    let child = command.spawn().map_err(|cause| Failure::new(FailureKind::Permanent, cause.to_string()))?;
    let mut group = Group::of(child);
    match timeout(settings.timeout, converse(&mut group.child, request)).await {
        Ok(answered) => {
            group.over();
            judge(answered, request)
        }
        Err(_) => {
            group.end().await;
            Err(uncertain(request, format!("no answer within {} ms", settings.timeout.as_millis())))
        }
    }
}

/// Output and exit status of a program.
struct Said {
    answer: Vec<u8>,
    complaint: String,
    status: std::process::ExitStatus,
}

async fn converse(child: &mut Child, request: &Request<'_>) -> Result<Said, String> {
    let mut question = serde_json::to_vec(request).map_err(|cause| cause.to_string())?;
    question.push(b'\n');
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let ask = async {
        if let Some(mut stdin) = stdin {
            // The program may close its input without reading it.
            let _ = stdin.write_all(&question).await;
        }
    };
    let listen = async {
        let mut answer = Vec::new();
        if let Some(stdout) = stdout {
            let mut stdout = stdout.take(ANSWER_BYTES_MAX as u64 + 1);
            stdout.read_to_end(&mut answer).await.map_err(|cause| cause.to_string())?;
        }
        if answer.len() > ANSWER_BYTES_MAX {
            return Err(format!("the answer has more than {ANSWER_BYTES_MAX} bytes"));
        }
        Ok(answer)
    };
    let ((), answer, complaint) = tokio::join!(ask, listen, tail(stderr));
    let status = child.wait().await.map_err(|cause| cause.to_string())?;
    Ok(Said { answer: answer?, complaint, status })
}

/// Returns the end of standard error on one line.
async fn tail(stderr: Option<impl AsyncRead + Unpin>) -> String {
    let mut kept = Vec::new();
    if let Some(mut stderr) = stderr {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
            kept.extend_from_slice(&buffer[..read]);
            let surplus = kept.len().saturating_sub(COMPLAINT_BYTES_MAX);
            kept.drain(..surplus);
        }
    }
    let lines: Vec<_> = kept.split(|&byte| byte == b'\n').map(|line| String::from_utf8_lossy(line)).collect();
    let lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

fn judge(said: Result<Said, String>, request: &Request<'_>) -> Result<Response, Failure> {
    let Said { answer, complaint, status } = said.map_err(|why| uncertain(request, why))?;
    let answer = answer.trim_ascii();
    let parsed = match answer {
        b"" => Ok(Response::default()),
        answer => Response::parse(answer),
    };
    if let Some(error) = parsed.as_ref().ok().and_then(|response| response.error(unknown(request))) {
        return Err(error);
    }
    match parsed {
        Ok(response) if status.success() => Ok(response),
        Err(cause) if status.success() => {
            Err(uncertain(request, format!("the answer is not understood: {cause}")))
        }
        _ if complaint.is_empty() => Err(uncertain(request, status.to_string())),
        _ => Err(uncertain(request, format!("{status}: {complaint}"))),
    }
}

/// Creates a failure without a kind: a program that changes machines may have had an effect.
fn uncertain(request: &Request<'_>, message: String) -> Failure {
    Failure::new(unknown(request), message)
}

fn unknown(request: &Request<'_>) -> FailureKind {
    if request.only_asks() { FailureKind::Transient } else { FailureKind::Uncertain }
}

/// The process group of a program, which is killed at the end of the call.
struct Group {
    child: Child,
    leader: Option<Pid>,
}

impl Group {
    fn of(child: Child) -> Self {
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { child, leader }
    }

    /// Marks the program as reaped: its pid may belong to another process.
    fn over(&mut self) {
        self.leader = None;
    }

    async fn end(&mut self) {
        self.signal(Signal::TERM);
        if timeout(GRACE, self.child.wait()).await.is_ok() {
            self.over();
            return;
        }
        self.signal(Signal::KILL);
        let _ = self.child.wait().await;
        self.over();
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // The process may just have ended.
            let _ = kill_process_group(leader, signal);
        }
    }
}

impl Drop for Group {
    /// Kills the group if the call is dropped.
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
