//! Connections to the control socket.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;
use weir_control::{Answer, Code, Command, Refusal, Reply, Right, What};

use super::line::{Line, read_line};
use crate::Handler;

/// Maximum length of a command; real commands are far shorter.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Idle timeout: an idle client holds one of few connections.
const IDLE_MAX: Duration = Duration::from_secs(600);

/// Timeout for a client that does not read the reply.
const WRITE_MAX: Duration = Duration::from_secs(30);

/// Answers commands until the client disconnects.
pub(super) async fn serve(stream: UnixStream, handler: Arc<dyn Handler>, right: Right) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let line = timeout(IDLE_MAX, read_line(&mut read, LINE_BYTES_MAX)).await??;
        let (reply, last) = match line {
            Line::End => return Ok(()),
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => (answer(&line, &*handler, right).await, false),
            // The start of the next command is unknown.
            Line::TooLong => (too_long(), true),
        };
        timeout(WRITE_MAX, write.write_all(&encode(reply).await)).await??;
        if last {
            return Ok(());
        }
    }
}

/// Refuses a client because too many are connected.
pub(super) async fn refuse(mut stream: UnixStream) {
    let reply = Reply::error(Code::InUse, "too many callers at once on the control socket");
    let _ = timeout(WRITE_MAX, stream.write_all(&encode_now(&reply))).await;
}

async fn answer(line: &[u8], handler: &dyn Handler, right: Right) -> Reply {
    let command: Command = match serde_json::from_slice(line) {
        Ok(command) => command,
        Err(cause) => return Reply::error(Code::BadCommand, format!("not a command: {cause}")),
    };
    if command.right() > right {
        return Refusal::not_permitted(&command, right).into();
    }
    match command {
        Command::Show { what, pool } if what != What::Runtime => {
            match handler.snapshot().select(what, pool.as_ref()) {
                Ok(snapshot) => Reply::Ok(Answer::Snapshot(Box::new(snapshot))),
                Err(refusal) => refusal.into(),
            }
        }
        command => handler.handle(command).await,
    }
}

fn too_long() -> Reply {
    Reply::error(Code::TooLong, format!("a command has at most {LINE_BYTES_MAX} bytes"))
}

/// Encodes a reply. With thousands of servers, writing a snapshot takes longer than checks and other clients
/// may wait, so it runs on another thread.
async fn encode(reply: Reply) -> Vec<u8> {
    match reply {
        Reply::Ok(Answer::Snapshot(_)) => {
            let written = tokio::task::spawn_blocking(move || encode_now(&reply)).await;
            written.unwrap_or_else(|cause| encode_now(&Reply::error(Code::Internal, cause.to_string())))
        }
        reply => encode_now(&reply),
    }
}

fn encode_now(reply: &Reply) -> Vec<u8> {
    let mut line = serde_json::to_vec(reply).unwrap_or_else(|cause| {
        // Replies are plain data. If encoding fails anyway, the client still needs an answer.
        format!(r#"{{"error":{{"code":"internal","message":{:?}}}}}"#, cause.to_string()).into_bytes()
    });
    line.push(b'\n');
    line
}
