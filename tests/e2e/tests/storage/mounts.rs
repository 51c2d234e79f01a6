//! Tests of areas that contain mounts of other file systems. They need root, and are skipped without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Site;

/// A tmpfs mount; dropping it unmounts.
pub(crate) struct Mount {
    pub(crate) path: PathBuf,
}

impl Mount {
    /// Creates the directory `path` and mounts there.
    pub(crate) fn new(path: &Path, options: &str) -> Option<Self> {
        fs::create_dir(path).unwrap();
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(path).output().unwrap();
        if !mount.status.success() {
            let told = String::from_utf8_lossy(&mount.stderr);
            weir_testkit::untested(format_args!("no right to mount: {told}"));
            return None;
        }
        Some(Self { path: path.to_owned() })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

#[test]
fn conditions_on_what_goes_to_another_file_system_hold_of_what_goes() {
    let site = Site::open("");
    let Some(_mount) = Mount::new(&site.root.path().join("other"), "size=16m") else { return };
    let moved = |from: &str, header: &str, value: &str| {
        let to = format!("/other{from}");
        site.request("MOVE", from, &[("Destination", &to), (header, value)], b"").status
    };
    let wrong = "\"other\"";
    let never = "Thu, 01 Jan 1970 00:00:01 GMT";
    for (name, right) in [("a", "If-Match"), ("b", "If"), ("c", "If-None-Match")] {
        let at = format!("/{name}");
        let made = site.put(&at, &[], b"content");
        let etag = made.header("etag").unwrap();
        let broken = [
            ("If-Match", wrong.to_owned()),
            ("If", format!("([{wrong}])")),
            ("If", format!("(Not [{etag}])")),
            ("If-None-Match", etag.to_owned()),
            ("If-Unmodified-Since", never.to_owned()),
        ];
        for (header, value) in &broken {
            assert_eq!(moved(&at, header, value), 412, "{header}: {value}");
            assert_eq!(site.read(name).as_deref(), Some(&b"content"[..]), "{header}: {value}");
        }
        let value = match right {
            "If-Match" => etag.to_owned(),
            "If" => format!("([{etag}])"),
            _ => wrong.to_owned(),
        };
        assert_eq!(moved(&at, right, &value), 201, "{right}: {value}");
        assert_eq!(site.read(&format!("other/{name}")).as_deref(), Some(&b"content"[..]));
        assert_eq!(site.read(name), None);
    }
    // The If header may also name members of a moved directory.
    assert_eq!(site.request("MKCOL", "/d", &[], b"").status, 201);
    let made = site.put("/d/f", &[], b"content");
    let etag = made.header("etag").unwrap();
    assert_eq!(moved("/d", "If", &format!("</d/f> ([{wrong}])")), 412);
    assert_eq!(moved("/d", "If", &format!("</d/f> ([{etag}])")), 201);
    assert_eq!(site.read("other/d/f").as_deref(), Some(&b"content"[..]));
    assert_eq!(site.get("/d/f").status, 404);
}

#[test]
fn a_directory_with_something_mounted_in_it_stays_whole_whatever_asks_for_its_end() {
    let site = Site::open("");
    site.write("d/first", "kept");
    site.write("e/other", "x");
    let Some(_mount) = Mount::new(&site.root.path().join("d/m"), "size=16m") else { return };
    let Some(_elsewhere) = Mount::new(&site.root.path().join("elsewhere"), "size=16m") else { return };
    site.write("d/m/inner", "kept");
    for (method, at, to) in [
        ("DELETE", "/d", ""),
        ("DELETE", "/d/m", ""),
        ("MOVE", "/d", "/moved"),
        ("MOVE", "/d", "/elsewhere/moved"),
        ("MOVE", "/e", "/d"),
        ("COPY", "/e", "/d"),
    ] {
        let headers: &[(&str, &str)] = if to.is_empty() { &[] } else { &[("Destination", to)] };
        let refused = site.request(method, at, headers, b"");
        let text = refused.text();
        match refused.status {
            409 => assert!(text.contains("mounted"), "{method} {at} {to}: {text}"),
            status => assert!(
                status == 207 && text.contains("<D:href>/d/m</D:href>") && text.contains("HTTP/1.1 409"),
                "{method} {at} {to}: {status} {text}"
            ),
        }
        for name in ["d/first", "d/m/inner"] {
            assert_eq!(site.read(name).as_deref(), Some(&b"kept"[..]), "{method} {at} {to}");
        }
        assert!(site.read("e/other").is_some(), "{method} {at} {to}");
    }
}
