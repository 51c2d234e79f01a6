//! Reads lines that the user enters while the live view is closed.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::time::sleep;

/// Meaning of an entered line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entered {
    /// `q`, or the end of the input (Ctrl-D).
    End,
    /// Anything else, such as Enter alone.
    Go,
}

/// Returns the next line. Standard input must be a terminal. It is polled, and only while this future is
/// awaited: keys typed in the live view belong to that.
pub(super) async fn line() -> io::Result<Entered> {
    while !is_ready()? {
        sleep(Duration::from_millis(50)).await;
    }
    let mut line = [0; 256];
    let length = rustix::io::read(io::stdin(), &mut line)?;
    Ok(understood(&line[..length]))
}

/// Returns true if a read would not block.
fn is_ready() -> io::Result<bool> {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    match poll(&mut polled, Some(&Timespec::default())) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn understood(line: &[u8]) -> Entered {
    let ends = line.is_empty() || line.trim_ascii().eq_ignore_ascii_case(b"q");
    if ends { Entered::End } else { Entered::Go }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_and_the_end_of_the_input_end() {
        assert_eq!([b"q\n".as_slice(), b" Q\n", b""].map(understood), [Entered::End; 3]);
        assert_eq!([b"\n".as_slice(), b"quick\n"].map(understood), [Entered::Go; 2]);
    }
}
