//! Records everything that a lab creates on this machine before it is used. If the lab is killed, a later lab
//! removes it.
//!
//! A ledger is a file on which its lab holds a lock. The kernel releases the lock when the lab ends for any
//! reason, so an unlocked ledger has no owner. Ledgers are in a directory where no other user can write,
//! because the recorded processes are killed and the recorded files deleted.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::is_root;
use super::remains::{Cleaned, Remains};
use super::strangers::{self, boot_id};

/// Record of what a lab creates on its machine.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    file: File,
    work: Option<PathBuf>,
}

/// Prefix of the names of all namespaces and directories. Names without it are never removed.
pub(super) const PREFIX: &str = "weir-lab-";

impl Ledger {
    /// Returns the directory of ledgers: for root in /run, which a restart empties. For other users, it is in
    /// the runtime directory or in the directory for temporary files.
    pub fn directory() -> PathBuf {
        let own = || std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
        match (is_root() && Path::new("/run").is_dir(), own()) {
            (true, _) => PathBuf::from("/run/weir-lab"),
            (false, Some(own)) => own.join("weir-lab"),
            // A name with the user id, so that users do not collide by accident.
            (false, None) => {
                std::env::temp_dir().join(format!("weir-lab-{}", rustix::process::geteuid().as_raw()))
            }
        }
    }

    /// Creates a new ledger in `directory`, which is created if it is missing.
    ///
    /// # Errors
    /// If it cannot be written, or if other users could write to the directory.
    pub fn open(directory: &Path) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => return Err(cause),
            _ => is_own(directory)?,
        }
        fs::set_permissions(directory, Permissions::from_mode(0o700))?;
        // A lab in another container may have had, or may have, the same process id.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let name = format!("{}-{now}", std::process::id());
        let (fresh, path) = (directory.join(format!("{name}.new")), directory.join(format!("{name}.ledger")));
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&fresh)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        writeln!(file, "boot {}", boot_id())?;
        // The lock is held. Other labs ignore the file until it has this name.
        fs::rename(&fresh, &path)?;
        Ok(Self { path, file, work: None })
    }

    pub(super) fn namespace(&mut self, name: &str) -> io::Result<()> {
        writeln!(self.file, "namespace {name}")
    }

    /// Records that a process is about to start. [`Ledger::process`] then records its id. If that record is
    /// missing, the process is identified by its start time, and by the work directory in its arguments, its
    /// environment or as its own directory.
    pub(super) fn intend(&mut self) -> io::Result<()> {
        writeln!(self.file, "intent {}", strangers::now_ticks())
    }

    /// Returns the name that identifies the processes of this lab's balancers that outlive them.
    pub(crate) fn family_name() -> String {
        format!("{PREFIX}{}", std::process::id())
    }

    /// Records a family: processes with this name in their environment.
    pub(super) fn family(&mut self, name: &str) -> io::Result<()> {
        writeln!(self.file, "family {name}")
    }

    /// Records the leader of a process group.
    pub(super) fn process(&mut self, pid: u32) -> io::Result<()> {
        writeln!(self.file, "process {pid} {}", strangers::started(pid).unwrap_or(0))
    }

    /// Records a directory with `PREFIX` in its name, in which all processes start.
    pub(crate) fn work_directory(&mut self, path: &Path) -> io::Result<()> {
        self.work = Some(path.to_owned());
        writeln!(self.file, "directory {}", path.display())
    }

    /// Returns the work directory that was recorded last.
    pub(super) fn work(&self) -> Option<&Path> {
        self.work.as_deref()
    }

    /// Removes the remains of killed labs. Does nothing if other users could have written to the directory.
    pub fn clean(directory: &Path) -> Cleaned {
        let mut cleaned = Cleaned::default();
        if is_own(directory).is_err() {
            return cleaned;
        }
        let Ok(entries) = fs::read_dir(directory) else { return cleaned };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_none_or(|extension| extension != "ledger") {
                continue;
            }
            let Some(mut file) = open_own(&path) else { continue };
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                let mut text = String::new();
                let is_read = file.read_to_string(&mut text).is_ok();
                // The lock is held, so no other lab handles the file. Remains that could not be removed are
                // tried again later.
                if is_read && Remains::read(&text).take(&mut cleaned) {
                    let _ = fs::remove_file(&path);
                }
            }
        }
        cleaned
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // Usually everything has been removed before. Otherwise the next lab finds the file.
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        if Remains::read(&text).take(&mut Cleaned::default()) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Checks that only this user can write there: a directory that is no link, belongs to this user, and is not
/// writable for others.
fn is_own(directory: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(directory)?;
    let is_own = metadata.is_dir()
        && metadata.uid() == rustix::process::geteuid().as_raw()
        && metadata.mode() & 0o022 == 0;
    let said = "it must be a directory of this user, and nobody else may write to it";
    if is_own { Ok(()) } else { Err(io::Error::new(io::ErrorKind::PermissionDenied, said)) }
}

/// Opens a file that belongs to this user and is no link.
fn open_own(path: &Path) -> Option<File> {
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).ok()?;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    (metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw()).then_some(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    use rustix::process::{Pid, Signal, kill_process_group};

    use super::super::strangers::{group_members, started};
    use super::*;

    /// Shell with its child processes, which all end when this is dropped.
    struct Shell(Child);

    impl Shell {
        fn start(command: &str, directory: &Path) -> Self {
            let mut shell = Command::new("sh");
            shell.args(["-c", command]).current_dir(directory).process_group(0);
            Self(shell.spawn().unwrap())
        }

        fn id(&self) -> u32 {
            self.0.id()
        }

        fn is_alive(&mut self) -> bool {
            self.0.try_wait().unwrap().is_none()
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            // Fails only if the group has no process.
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }

    /// Simulates a kill: the lock is released, but the file exists.
    fn kill(ledger: &Ledger) {
        flock(&ledger.file, FlockOperation::Unlock).unwrap();
    }

    fn text(ledger: &Ledger) -> String {
        fs::read_to_string(&ledger.path).unwrap()
    }

    fn is_over(pid: u32) {
        weir_testkit::wait_until("the group's end", weir_testkit::PATIENCE, || group_members(pid).is_empty());
    }

    #[test]
    fn what_a_killed_lab_left_is_taken_away_and_what_a_living_one_has_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join("weir-lab-work");
        let others = directory.path().join("others");
        fs::create_dir_all(work.join("deep")).unwrap();
        fs::create_dir_all(&others).unwrap();
        let child = Shell::start("sleep 600 & sleep 600", Path::new("/"));
        let mut ledger = Ledger::open(directory.path()).unwrap();
        ledger.intend().unwrap();
        ledger.process(child.id()).unwrap();
        ledger.work_directory(&work).unwrap();
        ledger.work_directory(&others).unwrap();
        assert!(Ledger::clean(directory.path()).is_nothing(), "its lab lives");
        assert!(text(&ledger).starts_with("boot "), "{}", text(&ledger));
        kill(&ledger);
        assert_eq!(Ledger::clean(directory.path()), Cleaned { processes: 1, namespaces: 0, directories: 1 });
        assert!(!work.exists() && others.exists() && !ledger.path.exists());
        is_over(child.id());
    }

    #[test]
    fn a_process_that_was_started_and_not_noted_any_more_is_found_by_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let (work, elsewhere) = (directory.path().join("weir-lab-work"), directory.path().join("elsewhere"));
        fs::create_dir_all(&work).unwrap();
        fs::create_dir_all(&elsewhere).unwrap();
        let mut ledger = Ledger::open(directory.path()).unwrap();
        ledger.work_directory(&work).unwrap();
        ledger.intend().unwrap();
        let ours = Shell::start("sleep 600", &work);
        let mut strange = Shell::start("sleep 600", &elsewhere);
        kill(&ledger);
        assert_eq!(Ledger::clean(directory.path()), Cleaned { processes: 1, namespaces: 0, directories: 1 });
        is_over(ours.id());
        assert!(strange.is_alive(), "of the same moment, and a stranger");
    }

    #[test]
    fn who_came_to_the_directory_later_is_a_stranger() {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join("weir-lab-work");
        fs::create_dir_all(&work).unwrap();
        let mut reader = Shell::start("sleep 600", &work);
        let long_ago = started(reader.id()).unwrap().saturating_sub(100_000);
        let mut ledger = Ledger::open(directory.path()).unwrap();
        ledger.work_directory(&work).unwrap();
        writeln!(ledger.file, "intent {long_ago}").unwrap();
        kill(&ledger);
        assert_eq!(Ledger::clean(directory.path()).processes, 0);
        assert!(reader.is_alive());
    }

    #[test]
    fn a_number_that_another_process_has_now_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let mut child = Shell::start("sleep 600", Path::new("/"));
        for record in [format!("{} 1", child.id()), "nonsense".to_owned(), "4294967295 0".to_owned()] {
            let mut ledger = Ledger::open(directory.path()).unwrap();
            writeln!(ledger.file, "process {record}").unwrap();
            kill(&ledger);
            assert!(Ledger::clean(directory.path()).is_nothing(), "{record}");
        }
        assert!(child.is_alive(), "it did not start then");
    }

    #[test]
    fn a_group_whose_leader_is_gone_is_left_alone_unless_it_names_the_lab() {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join("weir-lab-work");
        fs::create_dir_all(&work).unwrap();
        for (place, killed) in [(directory.path(), 0), (work.as_path(), 1)] {
            let mut leader = Shell::start("sleep 600 & exit", place);
            let start = started(leader.id()).unwrap_or(1);
            leader.0.wait().unwrap();
            assert_eq!(group_members(leader.id()).len(), 1);
            let mut ledger = Ledger::open(directory.path()).unwrap();
            ledger.work_directory(&work).unwrap();
            writeln!(ledger.file, "process {} {start}", leader.id()).unwrap();
            kill(&ledger);
            assert_eq!(Ledger::clean(directory.path()).processes, killed);
            if killed == 0 {
                assert_eq!(group_members(leader.id()).len(), 1);
            } else {
                is_over(leader.id());
            }
            // While the group has a process, its id is not reused.
            drop(leader);
            fs::create_dir_all(&work).unwrap();
        }
    }

    #[test]
    fn a_directory_that_others_can_write_to_or_that_is_a_link_is_not_trusted() {
        let directory = tempfile::tempdir().unwrap();
        let mut child = Shell::start("sleep 600", Path::new("/"));
        let planted = directory.path().join("open");
        fs::create_dir(&planted).unwrap();
        let line = format!("boot {}\nprocess {} {}\n", boot_id(), child.id(), started(child.id()).unwrap());
        fs::write(planted.join("1.ledger"), &line).unwrap();
        fs::set_permissions(&planted, Permissions::from_mode(0o777)).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&planted, &link).unwrap();
        for path in [&planted, &link] {
            assert!(Ledger::clean(path).is_nothing());
            assert_eq!(Ledger::open(path).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        }
        // In a trusted directory, a link is not followed.
        let own = directory.path().join("own");
        drop(Ledger::open(&own).unwrap());
        assert_eq!(fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
        std::os::unix::fs::symlink(planted.join("1.ledger"), own.join("1.ledger")).unwrap();
        assert!(Ledger::clean(&own).is_nothing());
        assert!(child.is_alive());
    }
}
