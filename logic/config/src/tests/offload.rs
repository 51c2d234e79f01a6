//! Tests `offload`: files that servers may name.

use super::print::assert_round_trip;
use super::{load_text, messages};
use crate::diff::{apply, diff};
use crate::plan::LocationFiles;

/// Returns a config whose pool has these additional tables.
fn pool(more: &str) -> String {
    format!("[listener.web]\nbind = ':80'\npool = 'app'\n\n[pool.app]\nservers = '10.0.0.1:80'\n{more}")
}

fn location(keys: &str) -> String {
    pool(&format!("\n[[pool.app.offload.location]]\n{keys}"))
}

#[test]
fn a_location_is_a_directory_or_a_storage_area() {
    let loaded = load_text(&location("prefix = '/i/'\nroot = '/srv'")).unwrap();
    assert_eq!(loaded.warnings, []);
    let offload = loaded.plan.pools[0].offload.as_ref().unwrap();
    assert!(!offload.x_sendfile && offload.locations[0].percent_encoded);
    let area = "\n[storage-area.data]\nroot = '/srv/data'\n";
    let text = format!("{}{area}", location("prefix = '/i'\nstorage-area = 'data'"));
    let loaded = load_text(&text).unwrap();
    // An area that only a pool refers to counts as used.
    assert_eq!(loaded.warnings, []);
    let offload = loaded.plan.pools[0].offload.as_ref().unwrap();
    assert!(matches!(&offload.locations[0].files, LocationFiles::Area(name) if name.as_str() == "data"));
    assert_round_trip(&text);
    assert_round_trip(&location("prefix = '/i'\nroot = '/srv'\nsymlinks = 'never'\npercent-encoded = false"));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (keys, message) in [
        ("root = '/srv'", "pool app, location 1: prefix is missing"),
        ("prefix = '/i'", "pool app, location 1: root or storage-area is missing"),
        ("prefix = 'i'\nroot = '/srv'", "pool app, location 1: prefix: \"i\": a path begins with /"),
        ("prefix = '/i'\nroot = 'srv'", "pool app, location 1: root: \"srv\" does not begin with a /"),
        (
            "prefix = '/i'\nroot = '/srv'\nstorage-area = 'a'",
            "pool app, location 1: root: not together with storage-area",
        ),
        ("prefix = '/i'\nstorage-area = 'a'", "pool app, location 1: there is no storage-area \"a\""),
        (
            "prefix = '/i'\nstorage-area = 'a'\nsymlinks = 'never'",
            "pool app, location 1: symlinks: the storage area says which links are followed",
        ),
        (
            "prefix = '/i'\nroot = '/srv'\n[[pool.app.offload.location]]\nprefix = '/i/'\nroot = '/b'",
            "pool app, location 2: prefix: another location has \"/i/\"",
        ),
    ] {
        let found = messages(&location(keys));
        assert!(found.iter().any(|found| found == message), "{keys}\n{found:#?}\n{message}");
    }
    let empty = pool("offload = { location = [] }");
    assert_eq!(messages(&empty), ["pool app: offload.location: expected at least one location"]);
    let nowhere = pool("offload = { uploads = true, location = { prefix = '/i', root = '/srv' } }");
    assert_eq!(
        messages(&nowhere),
        ["pool app: offload.uploads: no location is a storage area, where they could be stored"]
    );
    let read_only = format!(
        "{}\n[pool.app.offload]\nuploads = true\n[storage-area.data]\nroot = '/d'\nread-only = true\n",
        location("prefix = '/i'\nstorage-area = 'data'")
    );
    assert_eq!(
        messages(&read_only),
        ["pool app: offload.uploads: nothing can be written in the storage areas of its locations"]
    );
    let tcp = location("prefix = '/i'\nroot = '/srv'").replace("pool = 'app'", "mode = 'tcp'\npool = 'app'");
    assert_eq!(messages(&tcp), ["pool app: offload: goes by requests, and listener web speaks TCP"]);
}

#[test]
fn a_changed_location_is_a_change_of_the_pool() {
    let plan = |root: &str| load_text(&location(&format!("prefix = '/i'\nroot = '{root}'"))).unwrap().plan;
    let (old, new) = (plan("/a"), plan("/b"));
    let changes = diff(&old, &new);
    assert_eq!(changes.len(), 1);
    assert_eq!(apply(&old, &changes), new);
}
