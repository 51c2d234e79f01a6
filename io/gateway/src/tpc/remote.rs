//! Requests to the other server of a third-party copy, with redirections.

use std::time::Duration;

use weir_dav::header::RemoteUrl;
use weir_dav::path::PathLimits;

use super::job::Job;
use crate::client::{Connection, Fault, Head, RequestHead};
use crate::transfers::Stage;

/// Maximum number of redirections that one request follows.
const REDIRECTIONS_MAX: u32 = 10;

/// Maximum wait for a response to `Expect: 100-continue`. After that the body is sent (RFC 9110 section
/// 10.1.1).
pub(super) const CONTINUE_PATIENCE: Duration = Duration::from_secs(3);

/// Header lines.
pub(super) type Lines = Vec<(String, Vec<u8>)>;

/// A final response, and the connection that carries its body.
pub(super) struct Answered {
    pub(super) head: Head,
    pub(super) connection: Connection,
}

/// The route to a file on another server, along its redirections.
///
/// The headers that the client gave for the other server (`TransferHeader...`) go only to the server that it
/// named. The same holds for this server's certificate, because a redirection target must not be contacted
/// with this server's identity.
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

    /// Connects and sends the head of a request.
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

    /// Follows a redirection. Returns false if the response is none.
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
        // The client chose the file to remove; the other server must not choose another one.
        if method == "DELETE" && (head.status == 303 || !stays) {
            return Err(self.blame(Fault::lasting("DELETE was redirected to elsewhere, and not followed")));
        }
        self.carries &= stays;
        self.url = next;
        Ok(true)
    }

    /// Sends a request without a body, and follows redirections to the final response.
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

    /// Returns the time limit for a response. A requested checksum may require reading the whole file first.
    fn patience(&self, own: &[(String, Vec<u8>)]) -> Duration {
        let plan = &self.job.desk.plan;
        let asks = own.iter().any(|(name, _)| name.eq_ignore_ascii_case("want-digest"));
        if asks { plan.answer_timeout.duration() } else { plan.idle_timeout.duration() }
    }

    /// Adds the name of the server to an error.
    pub(super) fn blame(&self, fault: Fault) -> Fault {
        fault.of(self.url.peer())
    }
}

/// Converts an unexpected status to an error.
pub(super) fn refused(method: &str, job: &Job, status: u16) -> Fault {
    let text = format!("{}: {method} was answered with status {status}", job.request.remote.peer());
    match status {
        408 | 425 | 429 | 500 | 502 | 503 | 504 => Fault::passing(text),
        _ => Fault::lasting(text),
    }
}

/// Builds a header line.
pub(super) fn line(name: &str, value: impl Into<Vec<u8>>) -> (String, Vec<u8>) {
    (name.to_owned(), value.into())
}
