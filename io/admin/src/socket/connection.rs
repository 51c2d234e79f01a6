use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;
use weir_control::{Answer, Code, Command, Refusal, Reply, Right, What};

use super::line::{Line, read_line};
use crate::Handler;

/// No command is anywhere near this long.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// A caller who neither asks nor hangs up keeps one of few places.
const IDLE_MAX: Duration = Duration::from_secs(600);

/// A caller who does not take the reply.
const WRITE_MAX: Duration = Duration::from_secs(30);

/// Answers commands until the caller hangs up.
pub(super) async fn serve(stream: UnixStream, handler: Arc<dyn Handler>, right: Right) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let line = timeout(IDLE_MAX, read_line(&mut read, LINE_BYTES_MAX)).await??;
        let (reply, last) = match line {
            Line::End => return Ok(()),
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => (answer(&line, &*handler, right).await, false),
            // Where the next command begins is not known.
            Line::TooLong => (too_long(), true),
        };
        timeout(WRITE_MAX, write.write_all(&encode(reply).await)).await??;
        if last {
            return Ok(());
        }
    }
}

/// What an answered caller would have got, had there been a place.
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

/// With thousands of servers a snapshot takes longer to write than checks and other callers should wait.
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
        // Replies are plain data; if one cannot be written all the same, the caller must not wait for it.
        format!(r#"{{"error":{{"code":"internal","message":{:?}}}}}"#, cause.to_string()).into_bytes()
    });
    line.push(b'\n');
    line
}
