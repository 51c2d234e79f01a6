use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// With ten thousand servers `show stat` has some 6 MB.
const REPLY_BYTES_MAX: u64 = 64 << 20;

/// Gives one command, and reads the reply to its end.
pub(super) fn ask(path: &Path, command: &str, patience: Duration) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(command.as_bytes())?;
    stream.write_all(b"\n")?;
    stream.shutdown(Shutdown::Write)?;
    let mut reply = Vec::new();
    stream.take(REPLY_BYTES_MAX).read_to_end(&mut reply)?;
    Ok(String::from_utf8_lossy(&reply).into_owned())
}
