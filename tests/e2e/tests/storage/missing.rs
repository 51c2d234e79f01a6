//! Tests of the checksum backfill for files that other programs have written.

use std::fs::File;
use std::time::{Duration, SystemTime};

use weir_testkit::{PATIENCE, wait_until};

use crate::Site;

/// Returns the stored Adler-32 of a file, without computing it.
fn kept(site: &Site, path: &str) -> Option<String> {
    let asked = b"<propfind xmlns='DAV:'><prop><c:Checksum xmlns:c='http://storm.italiangrid.org/2014/webdav'/></prop></propfind>";
    let told = site.request("PROPFIND", path, &[("Depth", "0")], asked).text();
    let (before, _) = told.split_once("</S:Checksum>")?;
    Some(before.rsplit_once('>')?.1.to_owned())
}

#[test]
fn what_other_programs_have_written_gets_checksums_without_being_asked_for() {
    let site = Site::open("checksum-interval = \"1s\"");
    let long_ago = SystemTime::now() - Duration::from_secs(3_600);
    let write = |name: &str, content: &str, modified: SystemTime| {
        site.write(name, content);
        File::options()
            .write(true)
            .open(site.root.path().join(name))
            .unwrap()
            .set_modified(modified)
            .unwrap();
    };
    write("d/e/old", "hello", long_ago);
    write("d/new", "hello", SystemTime::now());
    wait_until("the checksum of an old file", PATIENCE, || {
        kept(&site, "/d/e/old").as_deref() == Some("062c0215")
    });
    // A recently written file may still be in use.
    assert_eq!(kept(&site, "/d/new"), None);
    // After a change, the old checksum is not reported.
    write("d/e/old", "another", long_ago + Duration::from_secs(1));
    assert_ne!(kept(&site, "/d/e/old").as_deref(), Some("062c0215"));
    wait_until("the checksum of its new content", PATIENCE, || {
        kept(&site, "/d/e/old").as_deref() == Some("0bb102f2")
    });
}
