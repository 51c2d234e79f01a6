//! Tests of areas that act as local users. They need root.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{XattrFlags, setxattr};
use weir_testkit::{PATIENCE, TempDir, wait_until};

use weir_e2e::Weir;

use crate::Site;

/// User and group IDs that no account has.
pub(crate) const ADA: u32 = 61_001;
const BOB: u32 = 61_002;
pub(crate) const LAB: u32 = 61_100;
pub(crate) const OTHERS: u32 = 65_534;
/// User ID under which Weir runs in the tests without root.
pub(crate) const WEIR: u32 = 61_900;

/// An area that acts as ada and bob, who are both in the group `lab`, and as `nobody` for all other users.
pub(crate) struct Lab {
    pub(crate) site: Site,
    pub(crate) files: TempDir,
    /// User ID of the process.
    pub(crate) user: u32,
}

impl Lab {
    /// Runs a test twice: with a Weir that stays root, and with one that changes its user and lives in a user
    /// namespace. Skips the test without root.
    pub(crate) fn each(more: &str, test: impl Fn(Self)) {
        if !rustix::process::geteuid().is_root() {
            return weir_testkit::untested("needs root");
        }
        for user in [0, WEIR] {
            test(Self::start(user, more));
        }
    }

    pub(crate) fn start(user: u32, more: &str) -> Self {
        let files = TempDir::new().unwrap();
        let hash = bcrypt::hash("sesame", 4).unwrap();
        fs::write(files.path().join("htpasswd"), format!("ada:{hash}\nbob:{hash}\neve:{hash}\n")).unwrap();
        let entry = |name: &str, uid: u32| {
            format!(
                "[[map]]\nprincipal = {{ type = \"user\", name = \"{name}\" }}\nuser = \"{uid}:{uid},{LAB}\"\n"
            )
        };
        fs::write(files.path().join("users.toml"), [entry("ada", ADA), entry("bob", BOB)].concat()).unwrap();
        let place = |name: &str| files.path().join(name).display().to_string();
        open_to(files.path(), user, user, 0o755);
        let root = TempDir::new().unwrap();
        open_to(root.path(), user, user, 0o755);
        let area = format!(
            "htpasswd = \"{}\"\nact-as = {{ map = \"{}\", otherwise = \"{OTHERS}:{OTHERS}\" }}\nlisting = true\n{more}\n{}",
            place("htpasswd"),
            place("users.toml"),
            crate::OPEN,
        );
        let launcher = Weir::launcher("");
        let process = match user {
            0 => String::new(),
            user => own_user(launcher.directory(), user, ""),
        };
        let weir = launcher.config(&(process + &crate::config(root.path(), "", &area))).start();
        Self { site: Site { weir, root }, files, user }
    }

    pub(crate) fn status(&self, who: &str, method: &str, path: &str, body: &[u8]) -> u16 {
        self.with(who, method, path, &[], body)
    }

    fn with(&self, who: &str, method: &str, path: &str, more: &[(&str, &str)], body: &[u8]) -> u16 {
        let credentials = format!("Basic {}", STANDARD.encode(format!("{who}:sesame")));
        let headers = [more, &[("Authorization", credentials.as_str())]].concat();
        self.site.request(method, path, &headers, body).status
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.site.root.path().join(name)
    }

    /// Writes a file that this user owns.
    pub(crate) fn file(&self, name: &str, owner: u32, mode: u32) {
        self.site.write(name, "content");
        open_to(&self.path(name), owner, owner, mode);
    }

    pub(crate) fn directory(&self, name: &str, owner: u32, group: u32, mode: u32) {
        fs::create_dir_all(self.path(name)).unwrap();
        open_to(&self.path(name), owner, group, mode);
    }

    /// Returns the user, group and supplementary IDs of all threads of the process.
    fn user_ids(&self) -> BTreeSet<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.site.weir.pid())).unwrap();
        let status = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("status")).ok());
        status
            .flat_map(|text| {
                let wanted =
                    |line: &&str| ["Uid:", "Gid:", "Groups:"].iter().any(|name| line.starts_with(name));
                text.lines().filter(wanted).map(str::to_owned).collect::<Vec<_>>()
            })
            .collect()
    }
}

/// Returns the first table of a config for a Weir that changes its user. Its files are in this directory.
pub(crate) fn own_user(directory: &Path, user: u32, more: &str) -> String {
    open_to(directory, user, user, 0o755);
    format!(
        "[weir]\nworkers = 2\nuser = \"{user}:{user}\"\ncontrol = {:?}\nstate = {:?}\n{more}\n\n",
        directory.join("control.sock"),
        directory.join("state.toml")
    )
}

pub(crate) fn open_to(path: &Path, owner: u32, group: u32, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    chown(path, Some(owner), Some(group)).unwrap();
}

#[test]
fn what_the_kernel_keeps_from_a_user_is_kept_from_who_acts_as_them() {
    Lab::each("", |lab| {
        lab.file("secret", ADA, 0o600);
        lab.file("open", ADA, 0o644);
        lab.directory("private", ADA, ADA, 0o700);
        lab.file("private/inner", ADA, 0o644);
        // Repeated, so that the kernel's caches are warm the second time.
        for _ in 0..2 {
            assert_eq!(lab.status("ada", "GET", "/secret", b""), 200);
            assert_eq!(lab.status("ada", "GET", "/private/inner", b""), 200);
            assert_eq!(lab.status("bob", "GET", "/open", b""), 200);
            for who in ["bob", "eve"] {
                for (method, path) in [
                    ("GET", "/secret"),
                    ("GET", "/private/inner"),
                    ("HEAD", "/private/inner"),
                    ("PROPFIND", "/private/"),
                    ("GET", "/private/"),
                    ("DELETE", "/private/inner"),
                    ("PUT", "/private/new"),
                    ("PUT", "/new"),
                    ("MKCOL", "/directory"),
                    ("DELETE", "/open"),
                ] {
                    assert_eq!(lab.status(who, method, path, b""), 403, "{who} {method} {path}");
                }
                let moved = lab.with(who, "MOVE", "/open", &[("Destination", "/moved")], b"");
                assert_eq!(moved, 403, "{who}");
            }
        }
        assert_eq!(lab.site.get("/open").status, 200, "nobody in particular is the other");
        assert!(lab.path("private/inner").exists() && lab.path("open").exists() && !lab.path("new").exists());
    });
}

#[test]
fn a_user_replaces_and_copies_what_even_they_may_only_read() {
    Lab::each("", |lab| {
        let mode = |name: &str| fs::metadata(lab.path(name)).unwrap().mode() & 0o7777;
        lab.directory("own", ADA, ADA, 0o755);
        lab.file("own/f", ADA, 0o400);
        assert_eq!(lab.status("ada", "PUT", "/own/f", b"new"), 204);
        assert_eq!((mode("own/f"), fs::read(lab.path("own/f")).unwrap()), (0o400, b"new".to_vec()));
        lab.directory("own/d/inner", ADA, ADA, 0o555);
        lab.directory("own/d", ADA, ADA, 0o555);
        assert_eq!(lab.with("ada", "COPY", "/own/d", &[("Destination", "/own/e")], b""), 201);
        assert_eq!((mode("own/e"), mode("own/e/inner")), (0o555, 0o555));
        // Ada cannot keep Bob as owner or the file's old group, so the permissions of that group are dropped.
        lab.directory("lab", 0, LAB, 0o2775);
        lab.file("lab/f", BOB, 0o640);
        assert_eq!(lab.status("ada", "PUT", "/lab/f", b"new"), 204);
        let owned = fs::metadata(lab.path("lab/f")).unwrap();
        assert_eq!((owned.uid(), owned.gid(), mode("lab/f")), (ADA, LAB, 0o600));
    });
}

#[test]
fn what_is_made_belongs_to_the_user_and_to_the_rules_of_its_directory() {
    Lab::each("", |lab| {
        lab.directory("lab", 0, LAB, 0o2775);
        assert_eq!(lab.status("ada", "PUT", "/lab/a", b"from ada"), 201);
        assert_eq!(lab.status("bob", "MKCOL", "/lab/d/", b""), 201);
        assert_eq!(lab.with("bob", "COPY", "/lab/a", &[("Destination", "/lab/d/copy")], b""), 201);
        let owner = |name: &str| {
            let metadata = fs::metadata(lab.path(name)).unwrap();
            (metadata.uid(), metadata.gid())
        };
        assert_eq!(
            (owner("lab/a"), owner("lab/d"), owner("lab/d/copy")),
            ((ADA, LAB), (BOB, LAB), (BOB, LAB))
        );
        assert_eq!(lab.status("eve", "PUT", "/lab/e", b"x"), 403);
        // New files inherit the default ACL of their directory.
        lab.directory("shared", ADA, ADA, 0o777);
        let entry = |tag: u16, permissions: u16, id: u32| {
            [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        let list = [
            2_u32.to_le_bytes().to_vec(),
            entry(0x01, 7, u32::MAX),
            entry(0x02, 4, BOB),
            entry(0x04, 0, u32::MAX),
            entry(0x10, 7, u32::MAX),
            entry(0x20, 0, u32::MAX),
        ]
        .concat();
        match setxattr(lab.path("shared"), "system.posix_acl_default", &list, XattrFlags::empty()) {
            Err(rustix::io::Errno::OPNOTSUPP) => {
                weir_testkit::untested("no access lists on this file system")
            }
            set => {
                set.unwrap();
                assert_eq!(lab.status("ada", "PUT", "/shared/file", b"x"), 201);
                assert_eq!(lab.status("bob", "GET", "/shared/file", b""), 200);
                assert_eq!(lab.status("eve", "GET", "/shared/file", b""), 403);
            }
        }
    });
}

#[test]
fn locks_properties_and_checksums_work_for_all_users_of_a_directory() {
    Lab::each("", |lab| {
        lab.directory("lab", 0, LAB, 0o2775);
        assert_eq!(lab.status("ada", "PUT", "/lab/a", b"Wikipedia"), 201);
        let body =
        b"<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>";
        assert_eq!(lab.status("ada", "LOCK", "/lab/a", body), 200);
        assert_eq!(lab.status("bob", "PUT", "/lab/a", b"x"), 423);
        assert_eq!(lab.status("bob", "DELETE", "/lab/a", b""), 423);
        let patch =
            b"<propertyupdate xmlns='DAV:'><set><prop><x xmlns='urn:x'>1</x></prop></set></propertyupdate>";
        assert_eq!(lab.status("ada", "PUT", "/lab/b", b"Wikipedia"), 201);
        assert_eq!(lab.status("ada", "PROPPATCH", "/lab/b", patch), 207);
        // The file was written without Weir, so it has no stored checksum. A reader without write permission
        // asks for it.
        lab.file("other", ADA, 0o644);
        let credentials = format!("Basic {}", STANDARD.encode("bob:sesame"));
        let told = lab
            .site
            .get_with("/other", &[("Authorization", credentials.as_str()), ("Want-Digest", "adler32")]);
        assert_eq!((told.status, told.header("digest")), (200, Some("adler32=0bcb02fc")), "{}", told.text());
    });
}

#[test]
fn threads_are_who_they_were_when_they_have_acted_as_somebody() {
    Lab::each("threads = 2", |lab| {
        lab.file("secret", ADA, 0o600);
        let before = lab.user_ids();
        for _ in 0..20 {
            assert_eq!(lab.status("ada", "GET", "/secret", b""), 200);
            assert_eq!(lab.status("bob", "GET", "/secret", b""), 403);
            assert_eq!(lab.status("bob", "PUT", "/new", b"x"), 403);
        }
        // The response may arrive before the thread has restored its IDs.
        wait_until("all threads are themselves", PATIENCE, || lab.user_ids() == before);
        assert_eq!(before.iter().filter(|line| line.starts_with("Uid:")).count(), 1, "{before:?}");
    });
}

#[test]
fn a_config_that_acts_as_root_or_nobody_known_is_refused() {
    Lab::each("", |lab| {
        let files = TempDir::new().unwrap();
        let map = files.path().join("users.toml");
        let config = files.path().join("weir.toml");
        let area = format!("act-as = {{ map = \"{}\" }}", map.display());
        fs::write(&config, crate::config(lab.site.root.path(), "", &area)).unwrap();
        for (user, message) in [("root", "is root"), ("0:0", "is root"), ("no such user", "neither a user")] {
            let entry = format!("[[map]]\nprincipal = {{ type = \"anyone\" }}\nuser = \"{user}\"\n");
            fs::write(&map, entry).unwrap();
            let check = std::process::Command::new(weir_e2e::program())
                .args(["check", "--no-ports"])
                .arg(&config)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&check.stderr).into_owned();
            assert!(check.status.code() == Some(1) && said.contains(message), "{said}");
        }
        let entry = "[[map]]\nprincipal = { type = \"user\", name = \"ada\" }\nuser = \"61001:61001\"\n";
        fs::write(&map, entry).unwrap();
        for (who, message) in
            [("user:ada", "as local user 61001:61001"), ("user:bob", "no local user stands for user bob")]
        {
            let told = std::process::Command::new(weir_e2e::program())
                .args(["storage", "explain", "--as", who, "GET", "/x", "--config"])
                .arg(&config)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&told.stdout).into_owned();
            assert!(said.contains(message), "{said}");
        }
    });
}

#[test]
fn uploads_that_servers_permit_belong_to_who_stands_for_nobody_in_particular() {
    if !rustix::process::geteuid().is_root() {
        return weir_testkit::untested("needs root");
    }
    let files = TempDir::new().unwrap();
    let root = files.path().join("data");
    fs::create_dir(&root).unwrap();
    open_to(files.path(), 0, 0, 0o755);
    open_to(&root, BOB, BOB, 0o755);
    let server = weir_testkit::RawServer::responding(|message| {
        let answer = match message.header("x-weir-upload").as_deref() {
            Some("begin") => "200 OK\r\nX-Accel-Redirect: /internal/f",
            _ => "201 Created",
        };
        format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n").into_bytes()
    });
    let map = files.path().join("users.toml");
    fs::write(&map, "[[map]]\nprincipal = { type = \"user\", name = \"ada\" }\nuser = \"61001:61001\"\n")
        .unwrap();
    let config = |otherwise: &str| {
        format!(
            "{}\n[pool.web.offload]\nuploads = true\n[[pool.web.offload.location]]\nprefix = \"/internal\"\nstorage-area = \"data\"\n\
             [storage-area.data]\nroot = \"{}\"\nact-as = {{ map = \"{}\"{otherwise} }}\n",
            weir_e2e::web(&[server.addr()]),
            root.display(),
            map.display()
        )
    };
    let file = files.path().join("weir.toml");
    fs::write(&file, config("")).unwrap();
    let check = std::process::Command::new(weir_e2e::program())
        .args(["check", "--no-ports"])
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    let message = "pool web: offload.uploads: storage area data: act-as has no local user";
    assert!(check.status.code() == Some(1) && said.contains(message), "{said}");
    let weir = weir_e2e::Weir::start(&config(&format!(", otherwise = \"{BOB}:{BOB}\"")));
    let mut client = weir.client();
    client.send("PUT /f HTTP/1.1\r\nHost: a.example\r\nContent-Length: 7\r\n\r\ncontent");
    assert_eq!(client.final_response().status, 201);
    assert_eq!(fs::read(root.join("f")).unwrap(), b"content");
    assert_eq!(fs::metadata(root.join("f")).unwrap().uid(), BOB);
}

#[test]
fn only_those_who_may_write_get_a_lock() {
    const LOCK: &[u8] =
        br#"<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>"#;
    Lab::each("", |lab| {
        lab.directory("ada", ADA, ADA, 0o755);
        lab.file("ada/file", ADA, 0o666);
        lab.directory("ada/sub", ADA, ADA, 0o755);
        lab.directory("shared", ADA, LAB, 0o2775);
        lab.directory("shared/mine", ADA, ADA, 0o755);
        lab.file("shared/f", ADA, 0o644);
        // In a sticky directory, only owners may replace files.
        lab.directory("sticky", 0, 0, 0o1777);
        lab.file("sticky/f", ADA, 0o666);
        let lock =
            |who: &str, path: &str, depth: &str| lab.with(who, "LOCK", path, &[("Depth", depth)], LOCK);
        for (path, depth) in [
            ("/ada/file", "0"),
            ("/ada/new", "0"),
            ("/ada/", "0"),
            ("/ada/", "infinity"),
            ("/sticky/f", "0"),
            ("/new", "0"),
        ] {
            assert_eq!(lock("bob", path, depth), 403, "{path} {depth}");
        }
        // Bob may not change one of the members.
        assert_eq!(lock("bob", "/shared/", "infinity"), 207);
        assert_eq!(lock("bob", "/sticky/", "infinity"), 207);
        // The refused requests locked nothing.
        assert_eq!(lab.status("ada", "PUT", "/ada/file", b"new"), 204);
        assert_eq!(lab.status("ada", "PUT", "/shared/f", b"new"), 204);
        assert_eq!(lock("ada", "/shared/", "infinity"), 200);
        assert_eq!((lock("bob", "/shared/f", "0"), lab.status("bob", "PUT", "/shared/f", b"")), (423, 423));
        for path in ["/ada/file", "/ada/sub/", "/sticky/f"] {
            assert_eq!(lock("ada", path, "infinity"), 200, "{path}");
        }
        assert_eq!(lock("bob", "/sticky/new", "0"), 201);
    });
}
