//! Tests of listings.

use std::fs;

use crate::support::*;

#[test]
fn a_hundred_thousand_members_are_listed_in_the_memory_of_a_batch() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..100_000 {
        fs::File::create(directory.path().join(format!("member-with-a-name-{number}"))).unwrap();
    }
    let tree = tree(directory.path());
    let mut seen = 0;
    let cost = allocation_counter::measure(|| {
        let mut listing = tree.list(&path("/")).unwrap();
        loop {
            let batch = listing.next_batch(256).unwrap();
            assert!(batch.len() <= 256);
            if batch.is_empty() {
                break;
            }
            seen += batch.len();
        }
    });
    assert_eq!(seen, 100_000);
    assert!(cost.bytes_max < 512 << 10, "{cost:?}");
}

#[test]
fn a_member_tells_what_it_is() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("d")).unwrap();
    fs::write(directory.path().join("f"), "123").unwrap();
    let tree = tree(directory.path());
    let mut batch = tree.list(&path("/")).unwrap().next_batch(10).unwrap();
    batch.sort_by(|a, b| a.name.cmp(&b.name));
    let facts: Vec<_> =
        batch.iter().map(|entry| (&*entry.name, entry.metadata.is_directory(), entry.link)).collect();
    assert_eq!(facts, [(&b"d"[..], true, false), (&b"f"[..], false, false)]);
    assert_eq!(batch[1].metadata, tree.metadata(&path("/f")).unwrap());
    assert_eq!(batch[1].metadata.size, 3);
}
