//! Tests with a file system that stops responding, such as a network mount whose server is gone.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use weir_e2e::Weir;
use weir_testkit::{PATIENCE, TempDir, wait_until};

use crate::{OPEN, config, message};

/// A FUSE mount of a directory with one file, whose content is never returned. Lookups of other names never
/// return either. Dropping the mount ends all waiting calls.
struct DeadMount {
    place: TempDir,
    state: Arc<State>,
    daemon: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    /// Set to respond to nothing any more.
    silent: AtomicBool,
    ended: AtomicBool,
    /// Number of reads of the file's content.
    reads: AtomicUsize,
}

/// The only file, and its reported size.
const FILE: &[u8] = b"file";
const FILE_BYTES: u32 = 64 << 20;

impl DeadMount {
    /// Mounts the file system. Returns `None` if this machine does not permit mounts.
    fn new() -> Option<Self> {
        let place = TempDir::new().unwrap();
        let device = File::options().read(true).write(true).open("/dev/fuse").ok()?;
        // The mount command gets the device as standard input. An inheritable descriptor could leak into a
        // process of another test and keep the device open after this mount.
        let mounting = Command::new("mount")
            .args(["-i", "-n", "-t", "fuse", "-o", "fd=0,rootmode=40000,user_id=0,group_id=0", "weir-test"])
            .arg(place.path())
            .stdin(Stdio::from(device.try_clone().unwrap()))
            .spawn();
        let state = Arc::new(State::default());
        // The mount command stats what it has mounted, so the daemon must already respond.
        let daemon = {
            let state = Arc::clone(&state);
            std::thread::spawn(move || serve(&device, &state))
        };
        let mount = Self { place, state, daemon: Some(daemon) };
        let mounted = mounting.and_then(|mut mounting| mounting.wait());
        mounted.is_ok_and(|status| status.success()).then_some(mount)
    }
}

impl Drop for DeadMount {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Relaxed);
        // Ending the daemon closes the device, which ends all waiting calls.
        if let Some(daemon) = self.daemon.take() {
            let _ = daemon.join();
        }
        let _ = Command::new("umount").arg("-l").arg(self.place.path()).status();
    }
}

/// Implements as much of the FUSE protocol (version 7) as opening the root and the file needs.
fn serve(mut device: &File, state: &State) {
    const LOOKUP: u32 = 1;
    const FORGET: u32 = 2;
    const GETATTR: u32 = 3;
    const OPEN: u32 = 14;
    const READ: u32 = 15;
    const STATFS: u32 = 17;
    const INIT: u32 = 26;
    const OPENDIR: u32 = 27;
    const INTERRUPT: u32 = 36;
    const BATCH_FORGET: u32 = 42;
    const ENOSYS: i32 = 38;
    const ROOT: u32 = 1;
    // Offsets of the attributes in a reply.
    const ENTRY: usize = 40;
    const ATTRIBUTES: usize = 16;
    let mut buffer = vec![0; 1 << 20];
    while !state.ended.load(Ordering::Relaxed) {
        let mut events = [PollFd::new(&device, PollFlags::IN)];
        let look = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        if !matches!(poll(&mut events, Some(&look)), Ok(1..)) {
            continue;
        }
        let Ok(length) = device.read(&mut buffer) else {
            // The device is not mounted yet, or no longer.
            let _ = poll(&mut [], Some(&look));
            continue;
        };
        let number = |at: usize| u32::from_le_bytes(buffer[at..at + 4].try_into().unwrap());
        if length < 40 || state.silent.load(Ordering::Relaxed) {
            continue;
        }
        let is_file = buffer[40..length].starts_with(FILE) && number(4) == LOOKUP;
        let mut body = match number(4) {
            INIT => vec![0; 64],
            LOOKUP if is_file => vec![0; 128],
            GETATTR => vec![0; 104],
            STATFS => vec![0; 80],
            OPEN | OPENDIR => vec![0; 16],
            READ => {
                state.reads.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            // Lookups never get a reply; the other requests need none.
            LOOKUP | FORGET | INTERRUPT | BATCH_FORGET => continue,
            // The kernel does not need other operations.
            _ => Vec::new(),
        };
        let mut put = |at: usize, value: u32| body[at..at + 4].copy_from_slice(&value.to_le_bytes());
        // Inode, size, mode, links.
        let attributes = |at: usize, is_root: bool| match is_root {
            true => [(at, ROOT), (at + 8, 0), (at + 60, 0o40_755), (at + 64, 2)],
            false => [(at, ROOT + 1), (at + 8, FILE_BYTES), (at + 60, 0o100_644), (at + 64, 1)],
        };
        match number(4) {
            INIT => [(0, 7), (4, 31), (20, 4096)].into_iter().for_each(|(at, value)| put(at, value)),
            LOOKUP => {
                put(0, ROOT + 1);
                attributes(ENTRY, false).into_iter().for_each(|(at, value)| put(at, value));
            }
            GETATTR => {
                attributes(ATTRIBUTES, number(16) == ROOT).into_iter().for_each(|(at, value)| put(at, value));
            }
            _ => {}
        }
        let mut answer = ((16 + body.len()) as u32).to_le_bytes().to_vec();
        let error = if body.is_empty() { -ENOSYS } else { 0 };
        answer.extend_from_slice(&error.to_le_bytes());
        answer.extend_from_slice(&buffer[8..16]);
        answer.extend_from_slice(&body);
        if device.write_all(&answer).is_err() {
            return;
        }
    }
}

/// Starts a Weir with one area at `/` and one on the mount at `/dead`. Returns `None` if FUSE cannot be
/// mounted here.
fn start() -> Option<(DeadMount, TempDir, Weir)> {
    let Some(mount) = DeadMount::new() else {
        weir_testkit::untested("FUSE cannot be mounted here");
        return None;
    };
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("a"), "content").unwrap();
    let weir = Weir::start(&format!(
        "{}[storage-area.dead]\nroot = \"{}\"\naccess-points = \"/dead\"\nread-only = true\nthreads = 2\nqueue = 3\n\
         [storage-area.dead.access]\nanonymous-read = true\n\
         [[route]]\npath = \"/dead\"\nstorage = \"dead\"\n",
        config(root.path(), "", OPEN),
        mount.place.path().display()
    ));
    Some((mount, root, weir))
}

#[test]
fn a_file_that_hangs_in_the_middle_holds_up_its_own_area_and_nothing_else() {
    let Some((mount, _root, mut weir)) = start() else { return };
    let ask = |headers: &[(&str, &str)]| {
        let mut client = weir.client().timeout(PATIENCE);
        client.send(message("GET", "/dead/file", headers, b""));
        client
    };
    let waiting = [ask(&[]), ask(&[("Range", "bytes=9000000-9999999")]), ask(&[("Want-Digest", "adler32")])];
    wait_until("content is asked for", PATIENCE, || mount.state.reads.load(Ordering::Relaxed) > 0);
    for _ in 0..50 {
        let mut client = weir.client();
        client.send(message("GET", "/a", &[], b""));
        assert_eq!(client.response().text(), "content");
    }
    // Clients that give up cause no harm, and control commands still work.
    drop(waiting);
    assert!(weir.ctl(&["show"]).status.success());
    drop(mount);
    assert!(weir.stop().success());
}

#[test]
fn a_mount_that_hangs_holds_up_its_own_area_and_nothing_else() {
    let Some((mount, _root, mut weir)) = start() else { return };
    // More requests than threads and queue positions.
    let mut waiting: Vec<_> = (0..8)
        .map(|number| {
            let mut client = weir.client().timeout(PATIENCE);
            client.send(message("GET", &format!("/dead/{number}"), &[], b""));
            client
        })
        .collect();
    let refused = |client: &mut weir_testkit::RawClient| !client.is_quiet(Duration::from_millis(1));
    wait_until("some are refused", PATIENCE, || {
        waiting.iter_mut().map(&refused).filter(|refused| *refused).count() == 3
    });
    for client in &mut waiting {
        if !refused(client) {
            continue;
        }
        let answer = client.response();
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    }
    // Both workers still serve requests.
    for _ in 0..50 {
        let mut client = weir.client();
        client.send(message("GET", "/a", &[], b""));
        assert_eq!(client.response().text(), "content");
    }
    // A client that gives up causes no harm, and control commands still work.
    drop(waiting);
    assert!(weir.ctl(&["show"]).status.success());
    // Now the root is silent too. A reload gives up, and the running config stays in force.
    mount.state.silent.store(true, Ordering::Relaxed);
    let began = Instant::now();
    weir.signal(weir_testkit::Signal::HUP);
    let mut client = weir.client();
    client.send(message("GET", "/a", &[], b""));
    assert_eq!(client.response().text(), "content");
    weir.wait_for_log("the config was not reloaded");
    assert!(began.elapsed() < PATIENCE);
    drop(mount);
    assert!(weir.stop().success());
}
