//! Tests with common WebDAV programs, from Debian's packages. A missing program fails its test:
//! `scripts/setup test` installs all of them.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::DirEntryExt;
use std::process::{Command, Output, Stdio};

use weir_testkit::TempDir;

use crate::{Site, pattern};

/// Runs a program to its end.
#[track_caller]
fn run(program: &str, arguments: &[&str], environment: &[(&str, &str)], input: &str) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).envs(environment.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        command.spawn().unwrap_or_else(|error| panic!("{program}: {error}: run `scripts/setup test`"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[track_caller]
fn succeeds(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let output = run(program, arguments, environment, "");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {told}{complained}");
    told
}

/// Returns a function that runs rclone with a remote `w:` for this site.
fn rclone<'a>(site: &Site, source: &'a TempDir) -> impl Fn(&[&str]) -> String + use<'a> {
    let url = format!("http://{}/", site.weir.addr("web"));
    let config = source.path().join("none").display().to_string();
    move |arguments| {
        let environment = [
            ("RCLONE_CONFIG", &*config),
            ("RCLONE_CONFIG_W_TYPE", "webdav"),
            ("RCLONE_CONFIG_W_URL", &*url),
            ("RCLONE_CONFIG_W_VENDOR", "other"),
        ];
        succeeds("rclone", arguments, &environment)
    }
}

#[test]
fn rclone_synchronises_moves_and_removes_trees() {
    let site = Site::open("");
    let source = TempDir::new().unwrap();
    for number in 0..60 {
        let directory = source.path().join(format!("d{}/e & \u{e9} {}", number % 5, number % 3));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(format!("file {number} %41#?")), pattern(number * 1_000)).unwrap();
    }
    let local = source.path().display().to_string();
    let rclone = rclone(&site, &source);
    rclone(&["sync", &local, "w:a/b"]);
    rclone(&["check", "--download", &local, "w:a/b"]);
    rclone(&["moveto", "w:a/b", "w:c"]);
    rclone(&["check", "--download", &local, "w:c"]);
    assert!(rclone(&["size", "w:"]).contains("60"));
    assert!(rclone(&["about", "w:"]).contains("Free:"));
    rclone(&["purge", "w:c"]);
    assert!(!site.root.path().join("c").exists());
}

#[test]
fn rclone_synchronises_many_files_and_removes_what_has_gone() {
    // `make test-rclone` sets ten thousand, which takes minutes.
    let files = std::env::var("WEIR_RCLONE_FILES").map_or(200, |count| count.parse().unwrap());
    assert!(usize::is_multiple_of(files, 100), "a hundred directories of equal size");
    // The test is about the number of files. Waiting for the disk for each file would only slow it down.
    let site = Site::open("durability = \"none\"\n");
    let source = TempDir::new().unwrap();
    for number in 0..files {
        let directory = source.path().join(format!("d{}", number % 100));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(format!("file-{number}")), pattern(number % 500)).unwrap();
    }
    let local = source.path().display().to_string();
    let rclone = rclone(&site, &source);
    let at_once = ["--transfers", "16", "--checkers", "16"];
    rclone(&[&["sync", &local, "w:all"], &at_once[..]].concat());
    rclone(&[&["check", "--download", &local, "w:all"], &at_once[..]].concat());
    assert!(rclone(&["size", "w:all"]).contains(&files.to_string()));
    // The second run sends nothing, and deletes the removed files.
    std::fs::remove_dir_all(source.path().join("d7")).unwrap();
    let all = site.root.path().join("all");
    let inodes = || -> BTreeSet<u64> {
        let directories = std::fs::read_dir(&all).unwrap().map(|it| it.unwrap());
        let files = directories.flat_map(|it| std::fs::read_dir(it.path()).unwrap());
        files.map(|it| it.unwrap().ino()).collect()
    };
    let before = inodes();
    rclone(&[&["sync", "--size-only", &local, "w:all"], &at_once[..]].concat());
    let after = inodes();
    assert!(after.is_subset(&before), "an upload is another file");
    assert_eq!((before.len(), after.len()), (files, files - files / 100));
    assert_eq!(std::fs::read_dir(&all).unwrap().count(), 99);
}

#[test]
fn cadaver_locks_edits_and_sets_properties() {
    let site = Site::open("");
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "content").unwrap();
    let script = format!(
        "mkcol c\ncd c\nput {} a\nlock a\nput {} a\ndiscover a\nunlock a\npropset a colour blue\npropget a colour\n\
         copy a b\nmove b d\nls\ncd ..\nrmcol c\nls\nquit\n",
        file.display(),
        file.display()
    );
    let url = format!("http://{}/", site.weir.addr("web"));
    // Cadaver reads its settings from the home directory.
    let home = directory.path().display().to_string();
    let output = run("cadaver", &[&url], &[("HOME", &home)], &script);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !told.contains("failed"), "{told}");
    assert!(told.contains("Value of colour is: blue") && told.contains("Lock token <urn:uuid:"), "{told}");
    assert!(!site.root.path().join("c").exists());
}

#[test]
fn davix_puts_lists_gets_moves_and_removes() {
    let site = Site::open("");
    let directory = TempDir::new().unwrap();
    let (file, back) = (directory.path().join("file"), directory.path().join("back"));
    std::fs::write(&file, pattern(3_000_000)).unwrap();
    let url = |path: &str| format!("http://{}{path}", site.weir.addr("web"));
    let [file, back] = [&file, &back].map(|path| path.display().to_string());
    succeeds("davix-mkdir", &[&url("/d")], &[]);
    succeeds("davix-put", &[&file, &url("/d/f")], &[]);
    assert!(succeeds("davix-ls", &["-l", &url("/d/")], &[]).contains("3000000"));
    succeeds("davix-get", &[&url("/d/f"), &back], &[]);
    assert!(std::fs::read(&back).unwrap() == pattern(3_000_000));
    // davix-mv 0.8.4 exits with 255 even after a 201, so check the result instead.
    run("davix-mv", &[&url("/d/f"), &url("/d/g")], &[], "");
    assert!(site.read("d/f").is_none() && site.read("d/g").unwrap() == pattern(3_000_000));
    succeeds("davix-rm", &[&url("/d/g")], &[]);
    assert!(site.read("d/g").is_none());
}

/// A mounted directory; dropping it unmounts.
struct Mounted(TempDir);

impl Drop for Mounted {
    fn drop(&mut self) {
        // umount waits until everything has been uploaded.
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

#[test]
fn a_mounted_area_is_a_directory_like_others() {
    let site = Site::open("");
    site.write("old/file", pattern(100_000));
    let directory = TempDir::new().unwrap();
    // davfs2 needs its own cache directory, and drops its privileges before it uses it.
    let cache = directory.path().join("cache");
    std::fs::create_dir(&cache).unwrap();
    succeeds("chgrp", &["davfs2", &cache.display().to_string()], &[]);
    for path in [directory.path(), &cache] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o775);
        std::fs::set_permissions(path, mode).unwrap();
    }
    let settings = directory.path().join("davfs2.conf");
    let text = format!("ask_auth 0\nuse_locks 1\ndelay_upload 0\ncache_dir {}\n", cache.display());
    std::fs::write(&settings, text).unwrap();
    let mounted = Mounted(TempDir::new().unwrap());
    let url = format!("http://{}/", site.weir.addr("web"));
    let [place, settings] = [mounted.0.path(), &settings].map(|path| path.display().to_string());
    let mount = run("mount.davfs", &[&url, &place, "-o", &format!("conf={settings}")], &[], "");
    if !mount.status.success() {
        let told = String::from_utf8_lossy(&mount.stderr).into_owned();
        let is_forbidden =
            ["not permitted", "/dev/fuse", "device not found"].iter().any(|why| told.contains(why));
        assert!(is_forbidden, "{told}");
        return weir_testkit::untested(format_args!("mounting is not permitted here: {told}"));
    }
    let at = |name: &str| mounted.0.path().join(name);
    assert!(std::fs::read(at("old/file")).unwrap() == pattern(100_000));
    std::fs::create_dir(at("new")).unwrap();
    std::fs::write(at("new/file"), pattern(300_000)).unwrap();
    std::fs::rename(at("new/file"), at("old/moved")).unwrap();
    std::fs::remove_dir(at("new")).unwrap();
    std::fs::write(at("old/file"), "another content").unwrap();
    std::fs::write(at("gone"), "x").unwrap();
    std::fs::remove_file(at("gone")).unwrap();
    drop(mounted);
    assert!(site.read("old/moved").is_some_and(|moved| moved == pattern(300_000)));
    assert_eq!(site.read("old/file").unwrap(), b"another content");
    assert!(site.read("gone").is_none() && !site.root.path().join("new").exists());
}
