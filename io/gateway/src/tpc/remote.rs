use std::time::Duration;

use weir_dav::header::RemoteUrl;
use weir_dav::path::PathLimits;

use super::job::Job;
use crate::client::{Connection, Fault, Head, RequestHead};
use crate::transfers::Stage;

/// Redirections that one request follows.
const REDIRECTIONS_MAX: u32 = 10;

/// A server that was asked to say whether it wants a body (100-continue) and says nothing gets the body after so long (RFC 9110
/// section 10.1.1).
pub(super) const CONTINUE_PATIENCE: Duration = Duration::from_secs(3);

/// Header lines.
pub(super) type Lines = Vec<(String, Vec<u8>)>;

/// A final answer, and the connection on which its body comes.
pub(super) struct Answered {
    pub(super) head: Head,
    pub(super) connection: Connection,
}

/// The way to a file on another server, over its redirections.
///
/// What the client has given for the other server (`TransferHeader...`) is meant for the server that it has named, and goes to no
/// other. Nor does this server's certificate: whom the other server names must not be spoken to in its name.
pub(super) struct Way<'a> {
    job: &'a Job,
    pub(super) url: RemoteUrl,
    carries: bool,
    left: u32,
}

impl<'a> Way<'a> {
    pub(super) fn new(job: &'a Job) -> Self {
        Self { job, url: job.request.remote.clone(), carries: true, left: REDIRECTIONS_MAX }
    }

    /// Connects, and sends the head of a request.
    pub(super) async fn begin(&self, method: &str, own: &[(String, Vec<u8>)]) -> Result<Connection, Fault> {
        self.job.live.set_stage(Stage::Waiting);
        let mut connection = self.job.desk.dialer(self.carries).connect(&self.url).await?;
        self.job.live.connected(connection.address());
        let mut lines = own.to_vec();
        if self.carries {
            lines.extend(self.job.request.passed.iter().cloned());
        }
        let authority = self.url.authority();
        let head = RequestHead { method, target: &self.url.target, authority: &authority, lines: &lines };
        connection.send(&head.write()).await.map_err(|fault| self.blame(fault))?;
        connection.flush().await.map_err(|fault| self.blame(fault))?;
        Ok(connection)
    }

    /// Goes on where a redirection leads; false: it is none.
    pub(super) fn follow(&mut self, method: &str, head: &Head) -> Result<bool, Fault> {
        if !matches!(head.status, 301 | 302 | 303 | 307 | 308) {
            return Ok(false);
        }
        let Some(location) = head.header("Location") else {
            return Err(self.blame(Fault::lasting(format!("status {} without Location", head.status))));
        };
        if self.left == 0 {
            return Err(self.blame(Fault::lasting("too many redirections")));
        }
        self.left -= 1;
        let next = self.url.redirected(location, &PathLimits::default());
        let next = next.map_err(|error| self.blame(Fault::lasting(format!("redirection: {error}"))))?;
        let stays = next.is_same_origin(&self.url);
        // What is to be removed is what the client has named: the other server does not choose it.
        if method == "DELETE" && (head.status == 303 || !stays) {
            return Err(self.blame(Fault::lasting("DELETE was redirected to elsewhere, and not followed")));
        }
        self.carries &= stays;
        self.url = next;
        Ok(true)
    }

    /// Sends a request without a body, and follows redirections to its final answer.
    pub(super) async fn ask(mut self, method: &str, own: &[(String, Vec<u8>)]) -> Result<Answered, Fault> {
        loop {
            let mut connection = self.begin(method, own).await?;
            let answered = connection.response(method == "HEAD", self.patience(own)).await;
            let head = answered.map_err(|fault| self.blame(fault))?;
            if !self.follow(method, &head)? {
                return Ok(Answered { head, connection });
            }
        }
    }

    /// How long an answer may take: a checksum that is asked for may mean reading all of the file first.
    fn patience(&self, own: &[(String, Vec<u8>)]) -> Duration {
        let plan = &self.job.desk.plan;
        let asks = own.iter().any(|(name, _)| name.eq_ignore_ascii_case("want-digest"));
        if asks { plan.answer_timeout.duration() } else { plan.idle_timeout.duration() }
    }

    /// Says whose fault it is.
    pub(super) fn blame(&self, fault: Fault) -> Fault {
        fault.of(self.url.peer())
    }
}

/// What an answer that is none of those that were hoped for means.
pub(super) fn refused(method: &str, job: &Job, status: u16) -> Fault {
    let text = format!("{}: {method} was answered with status {status}", job.request.remote.peer());
    match status {
        408 | 425 | 429 | 500 | 502 | 503 | 504 => Fault::passing(text),
        _ => Fault::lasting(text),
    }
}

/// A header line.
pub(super) fn line(name: &str, value: impl Into<Vec<u8>>) -> (String, Vec<u8>) {
    (name.to_owned(), value.into())
}
