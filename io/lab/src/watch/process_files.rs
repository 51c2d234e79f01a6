//! Reads files of /proc/PID (proc(5)) that several sources need.

use std::io;
use std::path::Path;
use std::{error, fmt, fs};

use rustix::io::Errno;

use super::source::number;
use super::ticks::seconds;

/// Error: the process or thread has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended;

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it has ended")
    }
}

impl error::Error for Ended {}

/// Returns true if an error from one of its files means that the process or thread has ended.
pub(super) fn has_ended(cause: &io::Error) -> bool {
    cause.kind() == io::ErrorKind::NotFound || cause.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// Returns the value, or `None` if this user may not read it.
pub(super) fn readable<T>(read: io::Result<T>) -> Result<Option<T>, Ended> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(cause) if has_ended(&cause) => Err(Ended),
        Err(_) => Ok(None),
    }
}

/// Returns the limit of file descriptors of the process of /proc/PID (`directory`); `None` = unlimited or
/// unknown.
pub(super) fn descriptor_limit(directory: &Path) -> Option<f64> {
    let limits = fs::read_to_string(directory.join("limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the number of open descriptors of the process of /proc/PID (`directory`).
///
/// # Errors
/// If the process has ended, or this user may not read it.
pub(super) fn descriptors(directory: &Path) -> io::Result<f64> {
    let descriptors = directory.join("fd");
    // Since Linux 6.2, the size of the directory is the number of descriptors, which costs far less than a
    // listing.
    let told = fs::metadata(&descriptors)?.len();
    if told > 0 { Ok(told as f64) } else { fs::read_dir(descriptors).map(|all| all.count() as f64) }
}

/// Required fields of /proc/PID/stat.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Stat {
    pub(super) minor_faults: Option<f64>,
    pub(super) major_faults: Option<f64>,
    pub(super) user_s: Option<f64>,
    pub(super) system_s: Option<f64>,
    pub(super) threads: Option<f64>,
    /// Start of the process, in ticks since boot.
    pub(super) started: Option<u64>,
}

impl Stat {
    pub(super) fn parse(text: &str) -> Self {
        // The name is in parentheses and may contain any character, including parentheses.
        let Some((_, rest)) = text.rsplit_once(')') else { return Self::default() };
        let words: Vec<&str> = rest.split_whitespace().collect();
        // proc(5) counts from 1, and the third field is the first one here.
        let field = |number_of: usize| words.get(number_of - 3).copied();
        Self {
            minor_faults: number(field(10)),
            major_faults: number(field(12)),
            user_s: number(field(14)).map(seconds),
            system_s: number(field(15)).map(seconds),
            threads: number(field(20)),
            started: field(22).and_then(|word| word.parse().ok()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_parentheses_and_spaces() {
        let text = "42 (a) (b c) S 1 42 42 0 -1 4194304 7 0 8 0 150 50 0 0 20 0 3 0 12345 1 2";
        let stat = Stat::parse(text);
        assert_eq!((stat.minor_faults, stat.major_faults), (Some(7.0), Some(8.0)));
        assert_eq!((stat.user_s, stat.system_s), (Some(seconds(150.0)), Some(seconds(50.0))));
        assert_eq!((stat.threads, stat.started), (Some(3.0), Some(12345)));
        assert_eq!(Stat::parse("42 (broken"), Stat::default());
    }

    #[test]
    fn what_may_not_be_read_is_told_from_what_has_ended() {
        let failed = |errno: Errno| readable::<()>(Err(errno.into()));
        assert_eq!(failed(Errno::ACCESS), Ok(None));
        assert_eq!((failed(Errno::SRCH), failed(Errno::NOENT)), (Err(Ended), Err(Ended)));
        assert!(descriptors(Path::new("/proc/self")).unwrap() >= 1.0);
        assert!(descriptors(Path::new("/nowhere")).is_err());
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        assert_eq!(descriptor_limit(Path::new("/proc/self")), limit.map(|limit| limit as f64));
        assert_eq!(descriptor_limit(Path::new("/nowhere")), None);
    }
}
