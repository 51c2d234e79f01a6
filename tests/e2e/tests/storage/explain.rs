//! Compares `weir storage explain` with the server's behaviour, for certificates, users, read-only areas,
//! directories and copies between servers.

use std::path::PathBuf;

use weir_testkit::TempDir;

use crate::access::explain;
use crate::{OPEN, config};

/// An area for `weir storage explain`, with files beside it.
struct Area {
    root: TempDir,
    beside: TempDir,
    config: PathBuf,
}

impl Area {
    /// Creates an area. `area` returns its keys and tables, and may write files beside it.
    fn new(area: impl FnOnce(&TempDir) -> String) -> Self {
        let (root, beside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let path = beside.path().join("weir.toml");
        let text = config(root.path(), "", &area(&beside));
        std::fs::write(&path, text).unwrap();
        Self { root, beside, config: path }
    }

    fn write(&self, name: &str) {
        let path = self.root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "content").unwrap();
    }

    /// Returns the exit status and the output.
    fn told(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = explain(&self.config, arguments);
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    }

    #[track_caller]
    fn says(&self, arguments: &[&str], status: i32, words: &str) {
        let (code, text) = self.told(arguments);
        assert!(code == Some(status) && text.contains(words), "{arguments:?}: {code:?} {text}");
    }
}

#[test]
fn a_certificate_is_judged_by_its_issuer_and_by_what_voms_says_of_it() {
    let area = Area::new(|beside| {
        let map = beside.path().join("cms.csv");
        std::fs::write(&map, "/O=Example/CN=Jo,/O=Example/CN=CA\n/O=Example/CN=Al\n").unwrap();
        format!(
            "identity-from = \"127.0.0.1\"\nvo-maps = {{ cms = {map:?} }}\n\
             [storage-area.data.access]\nvos = [\"cms\", \"atlas\"]\n\
             [[storage-area.data.access.policy]]\ndescription = \"production\"\neffect = \"permit\"\nactions = \"all\"\n\
             paths = \"/prod/**\"\nprincipals = {{ type = \"fqan\", fqan = \"/other/Role=production\" }}\n"
        )
    });
    area.write("f");
    area.write("prod/f");
    let (jo, al) = ("certificate:CN=Jo,O=Example", "certificate:CN=Al,O=Example");
    let get = ["GET", "/f"];
    let as_jo = |more: &[&'static str]| [&["--as", jo][..], more, &get].concat();
    area.says(&as_jo(&[]), 0, "taken for a member of cms, as if by the issuer of the map (--issuer)");
    area.says(&as_jo(&["--issuer", "CN=CA,O=Example"]), 0, "vo-map-read");
    area.says(&as_jo(&["--issuer", "CN=Other"]), 1, "denied");
    let (code, text) = area.told(&["--as", al, "GET", "/f"]);
    assert!(code == Some(0) && !text.contains("--issuer"), "any issuer will do: {text}");
    area.says(&["--as", "certificate:CN=Eve", "GET", "/f"], 1, "denied");
    area.says(&["--as", "certificate:CN=Eve", "--vo", "atlas", "PUT", "/new"], 0, "members of atlas");
    let producer = ["--vo", "other", "--fqan", "/other/Role=production"];
    let eve = |path: &'static str| [&["--as", "certificate:CN=Eve"][..], &producer, &["GET", path]].concat();
    area.says(&eve("/prod/f"), 0, "production");
    area.says(&eve("/f"), 1, "denied");
    area.says(&["--as", "anonymous", "--vo", "cms", "GET", "/f"], 2, "are about a certificate");
    // Without a trusted proxy, VOMS attributes do not exist.
    let without = Area::new(|_| "[storage-area.data.access]\nvos = \"cms\"\n".to_owned());
    without.says(&["--as", jo, "--vo", "cms", "GET", "/f"], 2, "identity-from");
}

#[test]
fn a_user_whom_nobody_knows_may_nothing() {
    let rules = "[storage-area.data.access]\nauthenticated-read = true\n";
    let area = Area::new(|beside| {
        let users = beside.path().join("htpasswd");
        std::fs::write(&users, format!("ada:{}\n", bcrypt::hash("sesame", 4).unwrap())).unwrap();
        format!("htpasswd = {users:?}\n{rules}")
    });
    area.write("f");
    area.says(&["--as", "user:ada", "GET", "/f"], 0, "authenticated-read");
    area.says(&["--as", "user:bob", "GET", "/f"], 1, "htpasswd knows no user bob");
    std::fs::remove_file(area.beside.path().join("htpasswd")).unwrap();
    area.says(&["--as", "user:ada", "GET", "/f"], 2, "htpasswd");
    let without = Area::new(|_| rules.to_owned());
    without.says(&["--as", "user:ada", "GET", "/f"], 1, "has no htpasswd");
}

#[test]
fn what_a_read_only_area_refuses_is_denied_whoever_asks() {
    let area = Area::new(|_| format!("read-only = true\nthird-party-copy = true\n{OPEN}"));
    area.write("f");
    for request in [&["PUT", "/new"][..], &["DELETE", "/f"], &["LOCK", "/f"], &["COPY", "--to", "/g", "/f"]] {
        area.says(request, 1, "the area is read-only");
    }
    for request in [&["GET", "/f"][..], &["PROPFIND", "/f"], &["OPTIONS", "/f"], &["COPY", "/f"]] {
        area.says(request, 0, "allowed");
    }
}

#[test]
fn a_directory_is_its_index_file_if_it_has_one_and_a_listing_where_there_are_any() {
    let rules = |more: &str| {
        format!(
            "index = \"index.html\"\n{more}[storage-area.data.access]\n\
             [[storage-area.data.access.policy]]\ndescription = \"hidden\"\nactions = \"all\"\n\
             paths = \"/closed/index.html\"\nprincipals = {{ type = \"anyone\" }}\n\
             [[storage-area.data.access.policy]]\ndescription = \"files\"\neffect = \"permit\"\nactions = [\"read\"]\n\
             principals = {{ type = \"anyone\" }}\n"
        )
    };
    let area = Area::new(|_| rules(""));
    for name in ["open/index.html", "closed/index.html", "none/f"] {
        area.write(name);
    }
    area.says(&["GET", "/open/"], 0, "read /open/index.html");
    area.says(&["HEAD", "/open/"], 0, "stat /open/index.html");
    area.says(&["GET", "/closed/"], 1, "policy 'hidden'");
    area.says(&["GET", "/none/"], 1, "lists no directories (listing)");
    // Without a slash, the client is redirected.
    area.says(&["GET", "/none"], 0, "read /none");
    let listing = Area::new(|_| format!("listing = true\n{OPEN}"));
    listing.write("none/f");
    listing.says(&["GET", "/none/"], 0, "list /none");
}

#[test]
fn a_copy_from_another_server_is_judged_as_a_writing_one() {
    let rules = "[storage-area.data.access]\n\
        [[storage-area.data.access.policy]]\ndescription = \"files\"\neffect = \"permit\"\nactions = \"read\"\n\
        principals = { type = \"anyone\" }\n\
        [[storage-area.data.access.policy]]\ndescription = \"one\"\neffect = \"permit\"\nactions = \"write\"\n\
        paths = \"/new\"\nprincipals = { type = \"anyone\" }\n";
    let area = Area::new(|_| format!("third-party-copy = true\n{rules}"));
    area.write("f");
    let from = |path: &'static str| ["COPY", "--source", "https://other.example.org/f", path];
    area.says(&from("/new"), 0, "create /new");
    area.says(&from("/f"), 1, "overwrite /f");
    area.says(&["COPY", "--source", "/f", "/new"], 2, "no URL of another server");
    area.says(&["GET", "--source", "https://other.example.org/f", "/new"], 2, "only COPY has a source");
    let without = Area::new(|_| rules.to_owned());
    without.says(&from("/new"), 1, "third-party-copy");
}

#[test]
fn a_copy_to_another_server_is_denied_where_there_are_none_and_for_directories() {
    let area = Area::new(|_| format!("third-party-copy = true\n{OPEN}"));
    area.write("f");
    area.write("directory/f");
    area.says(&["COPY", "/f"], 0, "read /f");
    let source = "https://other.example.org/f";
    for request in
        [&["COPY", "/directory"][..], &["COPY", "/f/"], &["COPY", "--source", source, "/directory"]]
    {
        area.says(request, 1, "directories are not copied between servers");
    }
    let without = Area::new(|_| OPEN.to_owned());
    without.write("f");
    without.says(&["COPY", "/f"], 1, "third-party-copy");
    // A copy within the server needs no setting.
    without.says(&["COPY", "--to", "/g", "/f"], 0, "allowed");
}
