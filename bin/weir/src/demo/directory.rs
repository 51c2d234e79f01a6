//! Makes the demo's temporary directory, and removes those of demos that were killed.
//!
//! A demo holds a lock (flock) on a file in its directory. The kernel releases the lock when the process ends
//! for any reason, so a directory with an unlocked file is abandoned. (The lock on the directory itself is
//! reserved for a control socket in it.)

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;
use tempfile::TempDir;

const PREFIX: &str = "weir-demo-";

/// Name of the locked file.
const LOCK: &str = "lock";

/// Number of random letters and digits at the end of the name, after the process id and a dash.
const RANDOM_LEN: usize = 6;

/// Locked directory of this process. It is removed when dropped.
#[derive(Debug)]
pub(super) struct Directory {
    path: TempDir,
    /// The last field, so that it is dropped last: the next holder of the lock finds the directory already
    /// removed.
    _lock: File,
}

impl Directory {
    /// Makes a directory in `parent` and locks it.
    pub(super) fn make_in(parent: &Path) -> io::Result<Self> {
        loop {
            let prefix = format!("{PREFIX}{}-", std::process::id());
            let path = tempfile::Builder::new().prefix(&prefix).rand_bytes(RANDOM_LEN).tempdir_in(parent)?;
            // Until the directory is locked, another demo may take it for abandoned.
            match open_lock(path.path()) {
                Ok(lock) => {
                    // On a file system without locks, other demos get no lock either, and remove nothing.
                    let _ = lock.lock();
                    if is_in(&lock, path.path()) {
                        return Ok(Self { path, _lock: lock });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.path.path()
    }

    /// Removes the directories beside this one that belong to demos of this user that no longer run. Ignores
    /// failures.
    pub(super) fn remove_abandoned(&self) {
        let Some(Ok(entries)) = self.path().parent().map(fs::read_dir) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name.to_str().is_some_and(is_of_a_demo) {
                let _ = remove_if_abandoned(&entry.path(), &self.path().join(&name));
            }
        }
    }
}

/// Moves an abandoned directory to `aside`, then removes it. A demo that is just starting can then never find
/// its directory half removed.
fn remove_if_abandoned(path: &Path, aside: &Path) -> io::Result<()> {
    let directory = fs::symlink_metadata(path)?;
    if !directory.is_dir() || directory.uid() != geteuid().as_raw() {
        return Ok(());
    }
    // Without the file, the demo was killed before it could create it, or is about to create it.
    let lock = open_lock(path)?;
    if lock.try_lock().is_ok() && is_in(&lock, path) {
        fs::rename(path, aside)?;
        fs::remove_dir_all(aside)?;
    }
    Ok(())
}

/// Returns true if the name is that of a demo's directory. Other programs are unlikely to use such a name.
fn is_of_a_demo(name: &str) -> bool {
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(pid, random)| {
        pid.parse::<u32>().is_ok()
            && random.len() == RANDOM_LEN
            && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Opens the file to lock, and creates it if it does not exist. Children do not inherit the file and its
/// lock: the standard library opens files with `O_CLOEXEC`.
fn open_lock(directory: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = File::options();
    options.write(true).create(true).truncate(false).custom_flags(flags);
    options.open(directory.join(LOCK))
}

/// Returns true if the open file is still the one in the directory.
fn is_in(lock: &File, directory: &Path) -> bool {
    match (lock.metadata(), fs::symlink_metadata(directory.join(LOCK))) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(parent: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(parent).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_killed_demo_left_is_removed() {
        let parent = TempDir::new().unwrap();
        let killed = parent.path().join("weir-demo-4711-aZ09bc");
        fs::create_dir_all(killed.join("more")).unwrap();
        fs::write(killed.join("demo.log"), "").unwrap();
        let next = Directory::make_in(parent.path()).unwrap();
        next.remove_abandoned();
        assert!(!killed.exists());
        assert_eq!(fs::read_dir(next.path()).unwrap().count(), 1, "the lock");
        drop(next);
        assert_eq!(names(&parent), Vec::<String>::new());
    }

    #[test]
    fn the_directory_of_a_demo_that_runs_stays_until_it_ends() {
        let parent = TempDir::new().unwrap();
        let running = Directory::make_in(parent.path()).unwrap();
        fs::write(running.path().join("demo.log"), "").unwrap();
        assert!(running.path().file_name().unwrap().to_str().is_some_and(is_of_a_demo));
        Directory::make_in(parent.path()).unwrap().remove_abandoned();
        assert!(running.path().join("demo.log").exists());
        drop(running);
        assert_eq!(names(&parent), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_a_demos_stays() {
        let parent = TempDir::new().unwrap();
        let elsewhere = TempDir::new().unwrap();
        fs::write(elsewhere.path().join("file"), "").unwrap();
        for name in
            ["weir-demo-config", "weir-demo-1-ab", "weir-demo-x-abcdef", "weir-demo-1-abc.ef", "other"]
        {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        fs::write(parent.path().join("weir-demo-1-afile1"), "").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), parent.path().join("weir-demo-1-alink1")).unwrap();
        let before = names(&parent);
        Directory::make_in(parent.path()).unwrap().remove_abandoned();
        assert_eq!(names(&parent), before);
        assert_eq!(names(&elsewhere), ["file"]);
    }

    #[test]
    fn demos_that_start_at_once_do_not_remove_each_others_directories() {
        let parent = TempDir::new().unwrap();
        let other = Directory::make_in(parent.path()).unwrap();
        let made = std::thread::scope(|scope| {
            let starts = || (0..200).map(|_| Directory::make_in(parent.path()).unwrap()).collect::<Vec<_>>();
            let starter = scope.spawn(starts);
            while !starter.is_finished() {
                other.remove_abandoned();
            }
            starter.join().unwrap()
        });
        assert!(made.iter().all(|directory| directory.path().join(LOCK).exists()));
    }
}
