//! Tests of a killed process and of a disk that hangs.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::UNIX_EPOCH;

use weir_e2e::Weir;
use weir_testkit::{PATIENCE, RawClient, Signal, TempDir, wait_until};

use crate::{OPEN, Site, config, message, pattern};

const BYTES: usize = 300_000;
const ROUNDS: u64 = 12;
const CHANGES_PER_ROUND: u64 = 90;
const _: () = assert!(ROUNDS * CHANGES_PER_ROUND >= 1_000, "too few changes are made");
const CLIENTS: usize = 4;

/// Possible content of a client's own file: one letter for each PUT.
#[derive(Default)]
struct Put {
    /// Letter of the last confirmed PUT.
    confirmed: Option<u8>,
    /// Letter of the last sent PUT, which may have become visible too.
    sent: Option<u8>,
}

/// Puts, copies and moves its own files and directory until the server is gone.
fn change(weir: &Weir, client: usize, round: u64, changes: &AtomicU64) -> Put {
    let mut put = Put::default();
    let Ok(mut connection) = RawClient::try_connect(weir.addr("web")) else { return put };
    let path = |name: &str| format!("/d/{name}-{client}");
    for turn in 0_u64.. {
        // One letter for each content, so that a mixture of two contents is detected.
        let letter = b'a' + u8::try_from((turn + round) % 26).unwrap();
        let content = vec![letter; BYTES];
        let over = |name: &str| path(name);
        put.sent = Some(letter);
        let requests = [
            message("PUT", &path("put"), &[], &content),
            message("COPY", &path("put"), &[("Destination", &over("copied"))], b""),
            message("MOVE", &path("copied"), &[("Destination", &over("moved"))], b""),
            message("COPY", &path("tree"), &[("Destination", &over("tree-copied"))], b""),
            message("MOVE", &path("tree-copied"), &[("Destination", &over("tree-moved"))], b""),
        ];
        for request in requests {
            if connection.try_send(request).is_err() {
                return put;
            }
            let Ok(answer) = connection.try_response() else { return put };
            assert!(matches!(answer.status, 201 | 204), "{}", answer.text());
            // The first request is the PUT.
            put.confirmed = put.sent;
            changes.fetch_add(1, Ordering::Relaxed);
        }
    }
    put
}

fn assert_whole(directory: &Path) -> usize {
    let mut files = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().starts_with(".weir-") {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            let inner = entry.path();
            let parts = ["a", "below/b"].map(|name| fs::read(inner.join(name)).unwrap_or_default().len());
            assert_eq!(parts, [BYTES, BYTES], "{} is torn", inner.display());
            continue;
        }
        let content = fs::read(entry.path()).unwrap();
        let whole = content.len() == BYTES && content.iter().all(|byte| *byte == content[0]);
        assert!(whole, "{} is torn: {} bytes", entry.path().display(), content.len());
        files += 1;
    }
    files
}

/// Checks that every confirmed byte survives. `durability` does not matter, because it is about a crash of
/// the machine, not of the process.
fn assert_kept(directory: &Path, client: usize, put: &Put) {
    if put.confirmed.is_none() {
        return;
    }
    let first = fs::read(directory.join(format!("put-{client}"))).unwrap().first().copied();
    let [confirmed, sent] = [put.confirmed, put.sent].map(|letter| letter.map(char::from));
    let first = first.map(char::from);
    assert!(first == confirmed || first == sent, "{confirmed:?} was confirmed, {first:?} is there");
}

/// Returns all entries of a directory whose names have this prefix.
fn hidden(directory: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(start));
    named.map(|entry| entry.path()).collect()
}

/// Returns true if the hidden entries in `holder` must be kept. A resource other than their known successor
/// has taken their names, so that the wanted one cannot be determined.
fn has_to_stay(holder: &Path, directory: &Path) -> bool {
    let Ok(inside) = fs::read_dir(holder) else { return false };
    let names: Vec<_> = inside.flatten().map(|entry| entry.file_name()).collect();
    // The last part of the holder's name identifies the successor, if that is known.
    let holder = holder.file_name().unwrap().to_string_lossy();
    let successor = holder.split('~').nth(4);
    let is_taken_by_another = |name: &OsString| {
        fs::metadata(directory.join(name))
            .is_ok_and(|there| successor.is_none() || successor != identity(&there).as_deref())
    };
    !names.is_empty() && names.iter().all(is_taken_by_another)
}

/// Identifies a file or directory as Weir does, distinct from all others at any time.
fn identity(there: &fs::Metadata) -> Option<String> {
    let created = there.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{:x}-{:x}.{:x}", there.ino(), created.as_secs(), created.subsec_nanos()))
}

#[test]
fn a_process_that_is_killed_leaves_every_file_whole_or_absent_and_what_it_confirmed_is_there() {
    let root = TempDir::new().unwrap();
    let directory = root.path().join("d");
    for client in 0..CLIENTS {
        let tree = directory.join(format!("tree-{client}"));
        fs::create_dir_all(tree.join("below")).unwrap();
        for name in ["a", "below/b"] {
            fs::write(tree.join(name), vec![b'x'; BYTES]).unwrap();
        }
    }
    let config =
        |durability: &str| config(root.path(), "", &format!("durability = \"{durability}\"\n{OPEN}"));
    for (round, durability) in (0..ROUNDS).zip(["none", "data", "full"].into_iter().cycle()) {
        let mut weir = Weir::start(&config(durability));
        let changes = AtomicU64::new(0);
        let puts = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let (weir, changes) = (&weir, &changes);
                    scope.spawn(move || change(weir, client, round, changes))
                })
                .collect();
            wait_until("changes", PATIENCE, || changes.load(Ordering::Relaxed) >= CHANGES_PER_ROUND);
            weir.signal(Signal::KILL);
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        weir.wait();
        assert!(assert_whole(&directory) >= CLIENTS, "round {round}, durability {durability}");
        assert!(puts.iter().any(|put| put.confirmed.is_some()));
        puts.iter().enumerate().for_each(|(client, put)| assert_kept(&directory, client, put));
    }
    // The next start removes leftovers in the background.
    let _weir = Weir::start(&config("data"));
    wait_until("no leftovers", PATIENCE, || {
        hidden(&directory, ".weir-tmp~").is_empty()
            && hidden(&directory, ".weir-old~").iter().all(|holder| has_to_stay(holder, &directory))
    });
    assert_whole(&directory);
    for holder in hidden(&directory, ".weir-old~") {
        assert_whole(&holder);
    }
}

#[test]
fn a_node_that_is_killed_amid_an_upload_costs_the_others_nothing_and_cleans_up_itself() {
    let root = TempDir::new().unwrap();
    let start =
        |node: &str| Weir::start(&config(root.path(), "", &format!("{OPEN}[weir]\nnode = \"{node}\"\n")));
    let uploads = |node: &str| hidden(root.path(), &format!(".weir-tmp~{node}~")).len();
    // Kill the process when part of the new content is on disk.
    let cut_off = |mut weir: Weir, node: &str| {
        let mut client = weir.client();
        client.send("PUT /f HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n").send(pattern(1_000_000));
        wait_until("the upload has begun", PATIENCE, || uploads(node) == 1);
        weir.signal(Signal::KILL);
        weir.wait();
    };
    let one = start("one");
    let ask = |method: &str, path: &str, body: &[u8]| one.client().exchange(message(method, path, &[], body));
    assert_eq!(ask("PUT", "/f", b"old").status, 201);
    cut_off(start("two"), "two");
    assert_eq!(ask("GET", "/f", b"").body, b"old");
    assert_eq!(ask("PUT", "/g", b"new").status, 201);
    // A node cleans up only after its own earlier processes, and removes their journals when done.
    cut_off(one, "one");
    let journals = hidden(&root.path().join(".weir-store"), "journal~one~");
    assert!(!journals.is_empty());
    let one = start("one");
    wait_until("it is through", PATIENCE, || !journals.iter().any(|journal| journal.exists()));
    assert_eq!((uploads("one"), uploads("two")), (0, 1));
    let _two = start("two");
    wait_until("the other has cleaned up, too", PATIENCE, || uploads("two") == 0);
    assert_eq!(one.client().exchange(message("GET", "/f", &[], b"")).body, b"old");
}

#[test]
fn an_area_whose_disk_hangs_says_so_and_another_one_goes_on() {
    let well = TempDir::new().unwrap();
    fs::write(well.path().join("f"), "well").unwrap();
    let site = Site::new(&format!(
        "threads = 1\nqueue = 1\n{OPEN}\n[[route]]\npath = \"/well\"\nstorage = \"well\"\n\
         [storage-area.well]\nroot = \"{}\"\naccess-points = \"/well\"\n{}",
        well.path().display(),
        OPEN.replace(".data.", ".well."),
    ));
    assert_eq!(site.put("/first", &[], b"x").status, 201);
    // Holding this lock delays every change, as a hanging file system does.
    let guard = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(site.root.path().join(".weir-store/locks.guard"));
    let guard = guard.unwrap();
    guard.lock().unwrap();
    let (told, answers) = mpsc::channel();
    std::thread::scope(|scope| {
        for client in 0..6 {
            let (site, told) = (&site, told.clone());
            scope.spawn(move || told.send(site.put(&format!("/{client}"), &[], b"x").status).unwrap());
        }
        // One request has the thread, one is in the queue.
        let refused: Vec<u16> = (0..4).map(|_| answers.recv_timeout(PATIENCE).unwrap()).collect();
        assert_eq!(refused, [503; 4]);
        assert_eq!(site.get("/well/f").body, b"well");
        assert_eq!(site.put("/well/g", &[], b"x").status, 201);
        guard.unlock().unwrap();
        let done: Vec<u16> = (0..2).map(|_| answers.recv_timeout(PATIENCE).unwrap()).collect();
        // With a queue of one, a request may find the queue full at its next step; the last one does not.
        assert!(done.contains(&201) && done.iter().all(|status| [201, 503].contains(status)), "{done:?}");
    });
    assert_eq!(site.put("/last", &[], b"x").status, 201);
}
