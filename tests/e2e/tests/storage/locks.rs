//! Tests of locks: permission to lock, limits, and breaking locks as an operator.

use std::process::Output;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use weir_testkit::{Response, TempDir};

use crate::Site;

const LOCK: &[u8] =
    br#"<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>"#;

/// A site with the users ada and bob. Ada may change neither `/d/kept` nor the contents of `/d/other`.
struct Shared {
    site: Site,
    _users: TempDir,
}

impl Shared {
    fn new(more: &str) -> Self {
        let users = TempDir::new().unwrap();
        let file = users.path().join("htpasswd");
        let line = |user: &str| format!("{user}:{}\n", bcrypt::hash("sesame", 4).unwrap());
        std::fs::write(&file, line("ada") + &line("bob")).unwrap();
        let site = Site::new(&format!(
            "htpasswd = \"{}\"\n{more}\n[storage-area.data.access]\n\
             [[storage-area.data.access.policy]]\ndescription = \"not for Ada\"\nactions = [\"write\", \"delete\"]\n\
             paths = [\"/d/kept\", \"/d/other/**\"]\nprincipals = {{ type = \"user\", name = \"ada\" }}\n\
             [[storage-area.data.access.policy]]\ndescription = \"the rest\"\neffect = \"permit\"\nactions = \"all\"\n\
             principals = {{ type = \"any-authenticated-user\" }}\n",
            file.display()
        ));
        Self { site, _users: users }
    }

    fn request(&self, user: &str, method: &str, path: &str, more: &[(&str, &str)]) -> Response {
        let credentials = format!("Basic {}", STANDARD.encode(format!("{user}:sesame")));
        let headers = [more, &[("Authorization", credentials.as_str())]].concat();
        self.site.request(method, path, &headers, if method == "LOCK" { LOCK } else { b"" })
    }
}

fn unlock(site: &Site, arguments: &[&str]) -> Output {
    std::process::Command::new(weir_e2e::program())
        .args(["storage", "unlock", "--socket"])
        .arg(site.weir.control())
        .args(arguments)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn a_lock_of_a_tree_is_refused_to_those_who_may_not_change_all_of_it() {
    let shared = Shared::new("");
    for name in ["d/kept", "d/other/file", "d/sub/open"] {
        shared.site.write(name, "x");
    }
    let refused = shared.request("ada", "LOCK", "/d/", &[("Depth", "infinity")]);
    let text = refused.text();
    assert_eq!(refused.status, 207, "{text}");
    // RFC 4918 section 9.10.9: denied members with their causes, and the depending root.
    for (href, status) in [("/d/kept", 403), ("/d/other/file", 403), ("/d/", 424)] {
        assert!(
            text.contains(&format!("<D:href>{href}</D:href><D:status>HTTP/1.1 {status}")),
            "{href} in {text}"
        );
    }
    assert!(!text.contains("/d/sub"), "{text}");
    // Nothing is locked.
    assert_eq!(shared.request("bob", "DELETE", "/d/kept", &[]).status, 204);
    // Bob may change all of it. Ada may lock the parts that she may change, and the directory without its
    // members.
    for (user, path, depth) in [("ada", "/d/sub/", "infinity"), ("ada", "/d/", "0")] {
        let locked = shared.request(user, "LOCK", path, &[("Depth", depth)]);
        assert_eq!(locked.status, 200, "{path}: {}", locked.text());
    }
    let shared = Shared::new("");
    shared.site.write("d/kept", "x");
    assert_eq!(shared.request("bob", "LOCK", "/d/", &[("Depth", "infinity")]).status, 200);
}

#[test]
fn the_locks_of_one_user_are_limited_and_leave_room_for_others() {
    let shared = Shared::new("max-locks = 4\nmax-locks-per-user = 2");
    let lock = |user: &str, path: &str| shared.request(user, "LOCK", path, &[]);
    assert_eq!((lock("ada", "/1").status, lock("ada", "/2").status), (201, 201));
    let refused = lock("ada", "/3");
    assert_eq!(refused.status, 507, "{}", refused.text());
    assert!(refused.text().contains("as many locks as one client may"), "{}", refused.text());
    assert!(shared.site.read("3").is_none());
    assert_eq!((lock("bob", "/3").status, lock("bob", "/4").status), (201, 201));
}

#[test]
fn an_operator_breaks_locks_of_anybody() {
    let shared = Shared::new("");
    let site = &shared.site;
    site.write("d/f", "x");
    site.write("d/g", "x");
    for (user, path) in [("ada", "/d/f"), ("bob", "/d/g")] {
        assert_eq!(shared.request(user, "LOCK", path, &[]).status, 200);
    }
    let status = |user: &str, path: &str| shared.request(user, "PUT", path, &[]).status;
    assert_eq!(status("bob", "/d/f"), 423);
    let none = unlock(site, &["/d/none"]);
    assert_eq!(none.status.code(), Some(1), "{}", said(&none));
    let dry = unlock(site, &["--dry-run", "--below", "/d"]);
    assert_eq!(dry.status.code(), Some(0), "{}", said(&dry));
    assert!(said(&dry).contains("user ada") && said(&dry).contains("user bob"), "{}", said(&dry));
    assert_eq!(status("bob", "/d/f"), 423);
    let broken = unlock(site, &["--json", "--below", "--holder", "user ada", "http://storage.example.org/d"]);
    let locks: serde_json::Value = serde_json::from_slice(&broken.stdout).unwrap();
    assert_eq!(locks.as_array().map(Vec::len), Some(1), "{locks}");
    assert_eq!((&locks[0]["path"], &locks[0]["holder"]), (&"/d/f".into(), &"user ada".into()));
    assert_eq!((status("bob", "/d/f"), status("ada", "/d/g")), (204, 423));
    assert_eq!(unlock(site, &["/d/g"]).status.code(), Some(0));
    assert_eq!(status("ada", "/d/g"), 204);

    // A lock of a parent directory is named in the message, but not broken.
    assert_eq!(shared.request("bob", "LOCK", "/d/", &[("Depth", "infinity")]).status, 200);
    let above = unlock(site, &["/d/f"]);
    assert_eq!(above.status.code(), Some(2));
    assert!(said(&above).contains("the lock of /d/ with depth infinity"), "{}", said(&above));
    let unknown = unlock(site, &["--area", "none", "/d/f"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(said(&unknown).contains("there is no storage area \"none\""), "{}", said(&unknown));
}

#[test]
fn many_locks_do_not_slow_down_a_change_of_one() {
    let site = Site::open("");
    for number in 0..300 {
        assert_eq!(site.request("LOCK", &format!("/{number}"), &[], LOCK).status, 201);
    }
    let file = site.root.path().join(".weir-store/locks.log");
    let before = std::fs::metadata(&file).unwrap().len();
    let locked = site.request("LOCK", "/one", &[], LOCK);
    let token = locked.header("lock-token").unwrap();
    let after = std::fs::metadata(&file).unwrap().len();
    // Only the changed lock is written.
    assert!(after - before < 1_000, "{before} {after}");
    assert_eq!(site.request("UNLOCK", "/one", &[("Lock-Token", token)], b"").status, 204);
}
