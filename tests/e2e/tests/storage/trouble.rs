//! A process that is killed, a disk that hangs.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use weir_e2e::Weir;
use weir_testkit::{PATIENCE, RawClient, Signal, TempDir, wait_until};

use crate::{OPEN, Site, config, message};

const BYTES: usize = 300_000;
const ROUNDS: u64 = 12;
const CHANGES_PER_ROUND: u64 = 90;
const CLIENTS: usize = 4;

/// Puts, copies and moves files and a directory of its own until the server is gone.
fn change(weir: &Weir, client: usize, round: u64, changes: &AtomicU64) {
    let Ok(mut connection) = RawClient::try_connect(weir.addr("web")) else { return };
    let path = |name: &str| format!("/d/{name}-{client}");
    for turn in 0_u64.. {
        // Letters, so that a file that is made of two contents shows it.
        let letter = b'a' + u8::try_from((turn + round) % 26).unwrap();
        let content = vec![letter; BYTES];
        let over = |name: &str| path(name);
        for request in [
            message("PUT", &path("put"), &[], &content),
            message("COPY", &path("put"), &[("Destination", &over("copied"))], b""),
            message("MOVE", &path("copied"), &[("Destination", &over("moved"))], b""),
            message("COPY", &path("tree"), &[("Destination", &over("tree-copied"))], b""),
            message("MOVE", &path("tree-copied"), &[("Destination", &over("tree-moved"))], b""),
        ] {
            if connection.try_send(request).is_err() {
                return;
            }
            let Ok(answer) = connection.try_response() else { return };
            assert!(matches!(answer.status, 201 | 204), "{}", answer.text());
            changes.fetch_add(1, Ordering::Relaxed);
        }
    }
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

#[test]
fn a_process_that_is_killed_leaves_every_file_whole_or_absent() {
    let root = TempDir::new().unwrap();
    let directory = root.path().join("d");
    for client in 0..CLIENTS {
        let tree = directory.join(format!("tree-{client}"));
        fs::create_dir_all(tree.join("below")).unwrap();
        for name in ["a", "below/b"] {
            fs::write(tree.join(name), vec![b'x'; BYTES]).unwrap();
        }
    }
    let config = config(root.path(), "", OPEN);
    for round in 0..ROUNDS {
        let mut weir = Weir::start(&config);
        let changes = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (weir, changes) = (&weir, &changes);
                scope.spawn(move || change(weir, client, round, changes));
            }
            wait_until("changes", PATIENCE, || changes.load(Ordering::Relaxed) >= CHANGES_PER_ROUND);
            weir.signal(Signal::KILL);
        });
        weir.wait();
        assert!(assert_whole(&directory) >= CLIENTS, "round {round}");
    }
    // What was left on the way is cleaned up by the next start, in the background.
    let _weir = Weir::start(&config);
    wait_until("no leftovers", PATIENCE, || {
        let mut names = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name());
        names.all(|name| !name.to_string_lossy().starts_with(".weir-tmp~"))
    });
    assert_whole(&directory);
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
    // Who holds this holds up every change, as a file system does that has stopped.
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
        // One has the thread, one waits for it.
        let refused: Vec<u16> = (0..4).map(|_| answers.recv_timeout(PATIENCE).unwrap()).collect();
        assert_eq!(refused, [503; 4]);
        assert_eq!(site.get("/well/f").body, b"well");
        assert_eq!(site.put("/well/g", &[], b"x").status, 201);
        guard.unlock().unwrap();
        let done: Vec<u16> = (0..2).map(|_| answers.recv_timeout(PATIENCE).unwrap()).collect();
        // With a queue of one, a request may find it full with its next step; the last one does not.
        assert!(done.contains(&201) && done.iter().all(|status| [201, 503].contains(status)), "{done:?}");
    });
    assert_eq!(site.put("/last", &[], b"x").status, 201);
}
