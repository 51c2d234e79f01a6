//! Opening the control socket.

use std::fmt;
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum wait for the lock. Another process that opens its socket in the same directory needs a few
/// milliseconds.
const LOCK_MAX: Duration = Duration::from_secs(2);

/// Reason why a control socket cannot be opened.
#[derive(Debug)]
pub enum BindError {
    /// Another process answers on the socket.
    Answered(PathBuf),
    /// The path is not a socket.
    NotASocket(PathBuf),
    /// Any other error.
    Io(PathBuf, io::Error),
}

/// A listening Unix socket with its file, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct BoundSocket {
    pub(super) listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the file. When this process ends, the path may belong to another process.
    identity: (u64, u64),
}

/// Listens at `path`; the socket has `mode` from the start. Replaces a socket file on which no process
/// answers.
pub(super) fn bind(path: &Path, mode: u32) -> Result<BoundSocket, BindError> {
    let failed = |cause| BindError::Io(path.to_owned(), cause);
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    // Held until the end: if two processes started at once, one could otherwise remove the other's new socket
    // as a stale one.
    let _lock = lock_directory(directory.unwrap_or(Path::new("."))).map_err(failed)?;
    refuse_if_in_use(path)?;
    let temporary = temporary_name(path);
    let _ = fs::remove_file(&temporary);
    let listener = UnixListener::bind(&temporary).map_err(failed)?;
    let placed = place(&temporary, path, mode);
    let identity = placed.inspect_err(|_| drop(fs::remove_file(&temporary))).map_err(failed)?;
    Ok(BoundSocket { listener, path: path.to_owned(), identity })
}

/// Sets the mode of the new socket before it gets its name, so that it can never be opened with a wider mode.
fn place(temporary: &Path, path: &Path, mode: u32) -> io::Result<(u64, u64)> {
    fs::set_permissions(temporary, Permissions::from_mode(mode))?;
    let metadata = fs::metadata(temporary)?;
    fs::rename(temporary, path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Creates the directory if only its last part is missing (`/run/weir` after a boot without the service
/// manager), and locks it.
fn lock_directory(directory: &Path) -> io::Result<File> {
    match fs::create_dir(directory) {
        Err(cause) if cause.kind() != ErrorKind::AlreadyExists => return Err(cause),
        _ => {}
    }
    let directory = File::open(directory)?;
    let deadline = Instant::now() + LOCK_MAX;
    loop {
        match directory.try_lock() {
            Ok(()) => return Ok(directory),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(5))
            }
            Err(cause) => return Err(cause.into()),
        }
    }
}

fn refuse_if_in_use(path: &Path) -> Result<(), BindError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(BindError::Io(path.to_owned(), cause)),
    };
    if !metadata.file_type().is_socket() {
        return Err(BindError::NotASocket(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(BindError::Answered(path.to_owned())),
        Err(cause) if matches!(cause.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) => Ok(()),
        Err(cause) => Err(BindError::Io(path.to_owned(), cause)),
    }
}

/// Returns a short name: a path may have 107 bytes, and the socket's own path already fits.
fn temporary_name(path: &Path) -> PathBuf {
    path.with_file_name(format!(".{}", std::process::id()))
}

impl Drop for BoundSocket {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path).is_ok_and(|now| (now.dev(), now.ino()) == self.identity);
        if ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered(path) => {
                write!(f, "control socket {}: another process answers on it", path.display())
            }
            Self::NotASocket(path) => {
                write!(f, "control socket {}: there is a file that is no socket", path.display())
            }
            Self::Io(path, cause) if cause.kind() == ErrorKind::PermissionDenied => write!(
                f,
                "control socket {}: {cause}: this user may not write there; choose another place ([weir] control = \"...\")",
                path.display()
            ),
            Self::Io(path, cause) => write!(f, "control socket {}: {cause}", path.display()),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, cause) => Some(cause),
            Self::Answered(_) | Self::NotASocket(_) => None,
        }
    }
}
