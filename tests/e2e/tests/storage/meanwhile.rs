//! What others do between the moment at which a request is judged and the one at which it changes something.

use std::fs::{self, File};

use weir_testkit::{PATIENCE, wait_until};

use crate::Site;

/// Whether a change of this process waits for who holds a guard: then it was judged already.
fn is_held_up(pid: u32) -> bool {
    let (locks, pid) = (fs::read_to_string("/proc/locks").unwrap(), pid.to_string());
    let mut waiting = locks.lines().filter(|line| line.contains("-> FLOCK"));
    waiting.any(|line| line.split_whitespace().any(|word| word == pid))
}

#[test]
fn what_has_become_a_directory_since_it_was_judged_stays_with_all_that_is_in_it() {
    // Everybody may do everything but delete anything else than `f`.
    let policy = |actions: &str, paths: &str| {
        format!(
            "[[storage-area.data.access.policy]]\ndescription = \"{actions}\"\neffect = \"permit\"\n\
             actions = [{actions}]\npaths = \"{paths}\"\nprincipals = {{ type = \"anyone\" }}\n"
        )
    };
    let rules = policy("'list', 'read', 'write'", "/**") + &policy("'delete'", "/*/f");
    let site = Site::new(&format!("[storage-area.data.access]\n{rules}"));
    assert_eq!(site.put("/first", &[], b"x").status, 201);
    let guard = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(site.root.path().join(".weir-store/locks.guard"))
        .unwrap();
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
        // Not done, or judged anew and then not done.
        assert!(matches!(status, 401 | 403 | 412), "{method}, {victim}: {status}");
        let kept = site.read(&at(&format!("{victim}/member")));
        assert_eq!(kept.as_deref(), Some(&b"kept"[..]), "{method}, {victim}");
    }
}
