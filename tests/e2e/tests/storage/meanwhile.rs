//! Tests of races: other requests act between the check of a request and its change.

use std::fs::{self, File};
use std::path::Path;

use weir_testkit::{PATIENCE, wait_until};

use crate::{Site, message};

/// Returns true if a change of this process waits for the guard of the locks. Then the first check is over.
fn is_held_up(pid: u32) -> bool {
    let (locks, pid) = (fs::read_to_string("/proc/locks").unwrap(), pid.to_string());
    let mut waiting = locks.lines().filter(|line| line.contains("-> FLOCK"));
    waiting.any(|line| line.split_whitespace().any(|word| word == pid))
}

/// Starts a site whose clients may do everything, except that they may delete only these paths.
fn site(deletable: &str) -> Site {
    let policy = |actions: &str, paths: &str| {
        format!(
            "[[storage-area.data.access.policy]]\ndescription = \"{actions}\"\neffect = \"permit\"\n\
             actions = [{actions}]\npaths = \"{paths}\"\nprincipals = {{ type = \"anyone\" }}\n"
        )
    };
    let rules = policy("'list', 'read', 'write'", "/**") + &policy("'delete'", deletable);
    let site = Site::new(&format!("[storage-area.data.access]\n{rules}"));
    assert_eq!(site.put("/first", &[], b"x").status, 201);
    site
}

/// Opens the guard of the locks. Locking it delays every change.
fn guard(site: &Site) -> File {
    let at = site.root.path().join(".weir-store/locks.guard");
    File::options().write(true).create(true).truncate(false).open(at).unwrap()
}

#[test]
fn what_has_become_a_directory_since_it_was_judged_stays_with_all_that_is_in_it() {
    let site = site("/*/f");
    let guard = guard(&site);
    let cases = [
        ("DELETE", "f"),
        ("MOVE", "f"),
        ("MOVE", "there"),
        ("MOVE", "new"),
        ("COPY", "there"),
        ("COPY", "new"),
    ];
    for (number, (method, victim)) in cases.into_iter().enumerate() {
        let at = |name: &str| format!("{number}/{name}");
        site.write(&at("f"), "source");
        site.write(&at("there"), "other");
        let destination = format!("/{}", at(if victim == "f" { "new" } else { victim }));
        let headers = [("Destination", destination.as_str())];
        guard.lock().unwrap();
        let status = std::thread::scope(|scope| {
            let asked = scope.spawn(|| site.request(method, &format!("/{}", at("f")), &headers, b"").status);
            wait_until("the request is judged", PATIENCE, || is_held_up(site.weir.pid()));
            let _ = fs::remove_file(site.root.path().join(at(victim)));
            site.write(&at(&format!("{victim}/member")), "kept");
            guard.unlock().unwrap();
            asked.join().unwrap()
        });
        // The request was refused, directly or after a new check.
        assert!(matches!(status, 401 | 403 | 412), "{method}, {victim}: {status}");
        let kept = site.read(&at(&format!("{victim}/member")));
        assert_eq!(kept.as_deref(), Some(&b"kept"[..]), "{method}, {victim}");
    }
}

#[test]
fn a_directory_that_comes_while_a_copy_is_made_is_replaced_only_by_who_may_delete_all_that_is_in_it() {
    const FILES: usize = 300;
    const ATTEMPTS: usize = 100;
    let site = site("/*/there");
    let guard = guard(&site);
    let copies = |directory: &Path| {
        let mut entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        entries.any(|name| name.to_string_lossy().starts_with(".weir-tmp~"))
    };
    // If the copy was faster than this test, try again.
    for number in 0..ATTEMPTS {
        let directory = site.root.path().join(number.to_string());
        for file in 0..FILES {
            site.write(&format!("{number}/from/{file}"), "copied");
        }
        let there = directory.join("there");
        fs::create_dir(&there).unwrap();
        let (from, to) = (format!("/{number}/from"), format!("/{number}/there"));
        let (was_caught, status) = std::thread::scope(|scope| {
            let site = &site;
            let asked = scope.spawn(move || site.request("COPY", &from, &[("Destination", &to)], b"").status);
            wait_until("the copy is being made", PATIENCE, || asked.is_finished() || copies(&directory));
            guard.lock().unwrap();
            wait_until("the copy is ready", PATIENCE, || asked.is_finished() || is_held_up(site.weir.pid()));
            let was_caught = !asked.is_finished();
            if was_caught {
                fs::remove_dir(&there).unwrap();
                site.write(&format!("{number}/there/member"), "kept");
            }
            guard.unlock().unwrap();
            (was_caught, asked.join().unwrap())
        });
        if was_caught {
            assert_eq!(status, 412);
            assert_eq!(site.read(&format!("{number}/there/member")).as_deref(), Some(&b"kept"[..]));
            assert!(!copies(&directory), "the copy is left");
            return;
        }
        assert_eq!(status, 204);
    }
    panic!("no copy was caught in {ATTEMPTS} attempts");
}

#[test]
fn a_client_that_leaves_is_noticed_though_its_next_request_is_unread() {
    let site = site("/**");
    site.write("f", "content");
    let guard = guard(&site);
    guard.lock().unwrap();
    let mut client = site.weir.client();
    client.send(message("DELETE", "/f", &[], b""));
    wait_until("the request is judged", PATIENCE, || is_held_up(site.weir.pid()));
    client.send(message("GET", "/f", &[], b""));
    client.reset();
    wait_until("it is counted", PATIENCE, || {
        site.weir.metrics().get("weir_listener_client_aborts_total", &["listener=\"web\""]) == 1.0
    });
    guard.unlock().unwrap();
}

#[test]
fn what_was_replaced_since_it_was_judged_is_neither_locked_nor_given_properties_on_its_old_version() {
    let site = site("/none");
    let guard = guard(&site);
    let lock: &[u8] =
        b"<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>";
    let patch: &[u8] =
        b"<propertyupdate xmlns='DAV:'><set><prop><a xmlns='urn:x'>value</a></prop></set></propertyupdate>";
    for (method, body) in [("LOCK", lock), ("PROPPATCH", patch)] {
        let etag = site.put("/f", &[], b"judged").header("etag").unwrap().to_owned();
        guard.lock().unwrap();
        let status = std::thread::scope(|scope| {
            let asked = scope.spawn(|| site.request(method, "/f", &[("If-Match", &etag)], body).status);
            wait_until("the request is judged", PATIENCE, || is_held_up(site.weir.pid()));
            site.write("f", "another content");
            guard.unlock().unwrap();
            asked.join().unwrap()
        });
        assert_eq!(status, 412, "{method}");
    }
    assert!(!site.request("PROPFIND", "/f", &[("Depth", "0")], b"").text().contains("value"));
    assert_eq!(site.put("/f", &[], b"not locked").status, 204);
}
