//! Watches on directories, to detect quickly that no path has changed.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch};
use rustix::io::ioctl_fionread;
use weir_dav::path::DavPath;

use crate::Tree;

/// Most directories that are watched; paths in others are looked up each time.
const DIRECTORIES_MAX: usize = 1024;
/// Time for which names must have been unchanged before they are watched: watching names that change all the
/// time is useless.
const CALM_FOR: Duration = Duration::from_millis(10);
/// Time after which all watches are dropped, so that unused directories are no longer watched.
const WATCHED_FOR: Duration = Duration::from_secs(10);

/// Detects whether names were changed in the directories that lead to some files. This costs a tenth of a
/// path lookup.
///
/// It uses inotify(7), whose events are queued before a rename or removal returns, for all processes of this
/// machine. A mount over a directory causes no event, and neither does a change of the root's own
/// permissions.
#[derive(Debug)]
pub(crate) struct NameWatch {
    inotify: OwnedFd,
    /// Incremented with each observed change of a name; odd while events are read from the queue.
    generation: AtomicU64,
    heard: Mutex<Heard>,
}

#[derive(Debug)]
struct Heard {
    /// Watched directories and their inotify watch descriptors.
    watched: HashMap<DavPath, i32>,
    since: Instant,
    last_change: Option<Instant>,
}

impl NameWatch {
    /// Creates a watch without directories. Returns `None` if the kernel provides no inotify instance.
    pub(crate) fn new(now: Instant) -> Option<Self> {
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let heard = Heard { watched: HashMap::new(), since: now, last_change: None };
        Some(Self { inotify, generation: AtomicU64::new(0), heard: Mutex::new(heard) })
    }

    /// Begins to watch all directories on the way to a path, without waiting for a disk. Returns a generation
    /// for [`Self::is_as_it_was`]. While that returns true, a lookup made after this call stays valid. `None`
    /// if that cannot be guaranteed.
    pub(crate) fn begin(&self, tree: &Tree, path: &DavPath, now: Instant) -> Option<u64> {
        let mut heard = self.hear()?;
        if self.has_events() {
            self.take_events(&mut heard, now);
        }
        if heard.last_change.is_some_and(|last| now.saturating_duration_since(last) < CALM_FOR) {
            return None;
        }
        self.watch_parents(tree, path, &mut heard)?;
        // A directory on the way may have been looked up before it changed.
        if self.has_events() {
            self.take_events(&mut heard, now);
            return None;
        }
        Some(self.generation.load(Ordering::SeqCst))
    }

    /// Returns whether no name has changed since [`Self::begin`] returned `generation`.
    pub(crate) fn is_as_it_was(&self, generation: u64, now: Instant) -> bool {
        if self.has_events() {
            if let Some(mut heard) = self.hear() {
                self.take_events(&mut heard, now);
            }
            return false;
        }
        // A thread that takes events from the queue makes the generation odd first.
        fence(Ordering::SeqCst);
        self.generation.load(Ordering::SeqCst) == generation
    }

    /// Drops all watches once they are older than [`WATCHED_FOR`].
    pub(crate) fn sweep(&self, now: Instant) {
        let Some(mut heard) = self.hear() else { return };
        if now.saturating_duration_since(heard.since) >= WATCHED_FOR {
            self.generation.fetch_add(2, Ordering::SeqCst);
            self.forget(&mut heard);
            heard.since = now;
        }
    }

    /// Watches from the root down, so that the watch on a parent reports a directory that is replaced.
    fn watch_parents(&self, tree: &Tree, path: &DavPath, heard: &mut Heard) -> Option<()> {
        let Some(parent) = path.parent() else { return Some(()) };
        if heard.watched.contains_key(&parent) {
            return Some(());
        }
        self.watch_parents(tree, &parent, heard)?;
        if heard.watched.len() >= DIRECTORIES_MAX {
            return None;
        }
        if let Some(above) = parent.parent() {
            let watch = self.watch(tree, &above, WatchFlags::ATTRIB | WatchFlags::MASK_ADD)?;
            if heard.watched.get(&above) != Some(&watch) {
                // Another directory has just taken the name.
                let _ = remove_watch(&self.inotify, watch);
                return None;
            }
        }
        let names = WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO | WatchFlags::DELETE;
        let itself = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let watch = self.watch(tree, &parent, names | itself)?;
        heard.watched.insert(parent, watch);
        Some(())
    }

    /// Adds a watch. A change of a directory's permissions is reported by its parent's watch. A watch for
    /// such changes makes the kernel check every read of a file in that parent, which is expensive. So only
    /// directories that lead to other directories get one.
    fn watch(&self, tree: &Tree, directory: &DavPath, changes: WatchFlags) -> Option<i32> {
        let of = |directory: BorrowedFd<'_>| {
            // inotify takes no descriptors. The kernel resolves this name to the directory itself.
            let name = format!("/proc/self/fd/{}", directory.as_raw_fd());
            add_watch(&self.inotify, name, changes | WatchFlags::ONLYDIR).ok()
        };
        match directory.is_root() {
            true => of(tree.root()),
            false => of(tree.resolve_plain(directory, OFlags::PATH | OFlags::DIRECTORY).ok()?.as_fd()),
        }
    }

    fn has_events(&self) -> bool {
        ioctl_fionread(&self.inotify).is_ok_and(|bytes| bytes > 0)
    }

    /// Locks the state, unless another thread holds it.
    fn hear(&self) -> Option<MutexGuard<'_, Heard>> {
        match self.heard.try_lock() {
            Ok(heard) => Some(heard),
            Err(TryLockError::Poisoned(heard)) => Some(heard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn take_events(&self, heard: &mut Heard, now: Instant) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        let of_directories = ReadFlags::ISDIR
            | ReadFlags::QUEUE_OVERFLOW
            | ReadFlags::DELETE_SELF
            | ReadFlags::MOVE_SELF
            | ReadFlags::UNMOUNT;
        let mut room = [MaybeUninit::uninit(); 4096];
        let mut events = Reader::new(&self.inotify, &mut room);
        let (mut moved, mut changed) = (false, false);
        while let Ok(event) = events.next() {
            moved |= event.events().intersects(of_directories);
            // The kernel reports the end of a watch also for one that was removed on purpose.
            changed |= event.events() != ReadFlags::IGNORED;
        }
        if moved {
            self.forget(heard);
        }
        if changed {
            heard.last_change = Some(now);
        }
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Drops all watches, because the directories' names may have changed.
    fn forget(&self, heard: &mut Heard) {
        for (_, watch) in heard.watched.drain() {
            // The kernel has already ended the watch of a removed directory.
            let _ = remove_watch(&self.inotify, watch);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;
    use std::sync::Arc;

    use weir_dav::path::PathLimits;

    use super::*;
    use crate::{NodeId, TreeOptions};

    struct Scene {
        root: tempfile::TempDir,
        tree: Arc<Tree>,
        names: NameWatch,
        now: Instant,
    }

    impl Scene {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir_all(root.path().join("a/b")).unwrap();
            fs::write(root.path().join("a/b/file"), "content").unwrap();
            fs::write(root.path().join("a/b/other"), "content").unwrap();
            let tree =
                Tree::open_root(root.path(), TreeOptions::new(NodeId::new("test").unwrap(), 1)).unwrap();
            let now = Instant::now();
            Self { root, tree, names: NameWatch::new(now).unwrap(), now }
        }

        fn at(&self, name: &str) -> std::path::PathBuf {
            self.root.path().join(name)
        }

        /// Begins a watch after the names were unchanged for long enough.
        fn begin(&mut self) -> u64 {
            self.begin_at_once();
            self.now += CALM_FOR;
            self.begin_at_once().unwrap()
        }

        fn begin_at_once(&self) -> Option<u64> {
            let path = DavPath::parse(b"/a/b/file", &PathLimits::default()).unwrap().path;
            self.names.begin(&self.tree, &path, self.now)
        }

        fn is_as_it_was(&self, since: u64) -> bool {
            self.names.is_as_it_was(since, self.now)
        }

        /// Checks that a change is noticed, also by a later call for the same generation.
        fn is_noticed(&mut self, change: impl Fn(&Self)) {
            let since = self.begin();
            assert!(self.is_as_it_was(since) && self.is_as_it_was(since));
            change(self);
            assert!(!self.is_as_it_was(since), "at once");
            assert!(!self.is_as_it_was(since), "and for ever");
            assert_eq!(self.begin_at_once(), None, "where names change nothing is promised");
        }
    }

    fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) {
        fs::rename(from, to).unwrap();
    }

    #[test]
    fn names_that_nobody_changes_are_as_they_were() {
        let mut scene = Scene::new();
        let since = scene.begin();
        fs::read(scene.at("a/b/file")).unwrap();
        fs::write(scene.at("a/b/file"), "new content").unwrap();
        fs::write(scene.at("a/b/new"), "does not take the name of another").unwrap();
        assert!(scene.is_as_it_was(since));
        assert_eq!(scene.begin_at_once(), Some(since));
    }

    /// Compares with the watches that the kernel reports (proc_pid_fdinfo(5)).
    #[test]
    fn reads_of_files_are_not_looked_at_in_directories_that_only_have_files() {
        let mut scene = Scene::new();
        scene.begin();
        let watches =
            fs::read_to_string(format!("/proc/self/fdinfo/{}", scene.names.inotify.as_raw_fd())).unwrap();
        let asks_for_attributes = |directory: &str| {
            let inode = format!(" ino:{:x} ", fs::metadata(scene.at(directory)).unwrap().ino());
            let watch = watches.lines().find(|line| line.contains(&inode)).unwrap();
            let mask = watch.split(' ').find_map(|word| word.strip_prefix("mask:")).unwrap();
            u32::from_str_radix(mask, 16).unwrap() & WatchFlags::ATTRIB.bits() != 0
        };
        assert_eq!(["", "a", "a/b"].map(asks_for_attributes), [true, true, false], "{watches}");
    }

    #[test]
    fn a_renamed_replaced_or_removed_file_is_noticed_at_once() {
        let mut scene = Scene::new();
        scene.is_noticed(|it| rename(it.at("a/b/other"), it.at("a/b/file")));
        scene.is_noticed(|it| rename(it.at("a/b/file"), it.at("a/b/away")));
        fs::write(scene.at("a/b/file"), "again").unwrap();
        scene.is_noticed(|it| fs::remove_file(it.at("a/b/file")).unwrap());
    }

    #[test]
    fn a_directory_on_the_way_that_is_moved_closed_or_replaced_is_noticed_and_so_is_what_happens_in_the_new_one()
     {
        let mut scene = Scene::new();
        for directory in ["a", "a/b"] {
            scene.is_noticed(|it| rename(it.at(directory), it.at("elsewhere")));
            fs::create_dir_all(scene.at("a/b")).unwrap();
            fs::write(scene.at("a/b/file"), "another").unwrap();
            scene.is_noticed(|it| fs::remove_file(it.at("a/b/file")).unwrap());
            fs::remove_dir_all(scene.at(directory)).unwrap();
            scene.begin_at_once();
            rename(scene.at("elsewhere"), scene.at(directory));
            scene.is_noticed(|it| {
                let mode = fs::Permissions::from_mode(0o700);
                fs::set_permissions(it.at(directory), mode).unwrap();
            });
        }
    }

    #[test]
    fn no_more_is_said_of_a_path_with_a_link_on_the_way() {
        let mut scene = Scene::new();
        scene.begin();
        rename(scene.at("a/b"), scene.at("c"));
        std::os::unix::fs::symlink("../c", scene.at("a/b")).unwrap();
        scene.begin_at_once();
        scene.now += CALM_FOR;
        assert_eq!(scene.begin_at_once(), None);
    }

    #[test]
    fn what_was_watched_for_long_is_looked_up_again() {
        let mut scene = Scene::new();
        let since = scene.begin();
        scene.names.sweep(scene.now);
        assert!(scene.is_as_it_was(since));
        scene.names.sweep(scene.now + WATCHED_FOR);
        assert!(!scene.is_as_it_was(since));
        let since = scene.begin();
        assert!(scene.is_as_it_was(since));
    }

    #[test]
    fn an_overflow_of_the_queue_is_a_change_of_everything() {
        let mut scene = Scene::new();
        let since = scene.begin();
        let queued: usize =
            fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
        for _ in 0..=queued / 2 {
            rename(scene.at("a/b/other"), scene.at("a/b/another"));
            rename(scene.at("a/b/another"), scene.at("a/b/other"));
        }
        rename(scene.at("a"), scene.at("elsewhere"));
        assert!(!scene.is_as_it_was(since));
        assert!(scene.names.heard.lock().unwrap().watched.is_empty());
    }
}
