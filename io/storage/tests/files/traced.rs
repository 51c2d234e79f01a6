//! Tests of the system calls that changes make, and of their order.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_storage::{Commit, CopyOptions, Durability, Upload};
use weir_testkit::Trace;

use crate::support::*;

const ROOT: &str = "WEIR_TEST_TRACED_ROOT";
const POLICIES: [(&str, Durability); 3] =
    [("none", Durability::None), ("data", Durability::Data), ("full", Durability::Full)];
const CALLS: [&str; 8] =
    ["fsync", "fdatasync", "rename", "renameat", "renameat2", "linkat", "ioctl", "copy_file_range"];

/// Runs in the child process of the following tests; it is not a test of its own.
#[test]
#[ignore = "the child of other tests"]
fn traced_child() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else { return };
    let tree = tree(&root);
    for (name, durability) in POLICIES {
        let at = path(&format!("/{name}"));
        let mut upload = Upload::begin(&tree, &disk(), &at, &[], None).unwrap();
        upload.write(&vec![b'x'; 300_000]).unwrap();
        upload.commit(Commit { durability, ..COMMIT }).unwrap();
    }
    let options = CopyOptions { deep: true, overwrite: false, durability: Durability::None };
    tree.copy(&path("/full"), &path("/copy"), options, &mut |_, _| true, &GO_ON).unwrap();
}

/// Returns the system calls of the child process. `None` if this process may not trace it.
fn calls(root: &Path) -> Option<Vec<String>> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "traced::traced_child", "--ignored"]).env(ROOT, root);
    Trace::of_run(&child, &CALLS)
}

/// Returns the position of the call that gives the file its name.
#[track_caller]
fn naming(calls: &[String], name: &str) -> usize {
    let name = format!("\"{name}\"");
    let is_naming = |call: &String| call.contains("rename") && call.contains(&name);
    calls.iter().position(is_naming).unwrap_or_else(|| panic!("nothing becomes {name}: {calls:#?}"))
}

/// Returns the kind of data that a call syncs: a file's content, the whole file, or the names in the
/// directory.
fn synced(call: &str, root: &Path) -> Option<&'static str> {
    let (name, rest) = call.split_once("sync(")?;
    let (_, path) = rest.split_once('<')?;
    let (path, _) = path.split_once('>')?;
    Some(match (name.ends_with("fdata"), Path::new(path) == root) {
        (true, false) => "content",
        (false, false) => "file",
        (false, true) => "names",
        (true, true) => "part of the names",
    })
}

#[test]
fn an_upload_is_on_the_disk_before_it_has_its_name_as_far_as_its_policy_wants_that() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let Some(calls) = calls(&root) else { return };
    let (none, data, full) = (naming(&calls, "none"), naming(&calls, "data"), naming(&calls, "full"));
    let copy = naming(&calls, "copy");
    let synced =
        |range: Range<usize>| calls[range].iter().filter_map(|call| synced(call, &root)).collect::<Vec<_>>();
    assert!(synced(0..none).is_empty(), "{calls:#?}");
    assert_eq!(synced(none..data), ["content"], "{calls:#?}");
    // Neither of the first two has its name safely on the disk; the last one has.
    assert_eq!(synced(data..full), ["file"], "{calls:#?}");
    assert_eq!(synced(full..copy), ["names"], "{calls:#?}");
    assert!(synced(copy..calls.len()).is_empty(), "{calls:#?}");
}

#[test]
fn a_copy_shares_its_blocks_where_that_is_possible_and_is_made_by_the_kernel_elsewhere() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let Some(calls) = calls(&root) else { return };
    let copying = &calls[naming(&calls, "full")..naming(&calls, "copy")];
    let sharing = copying.iter().position(|call| call.contains("ioctl(") && call.contains("FICLONE"));
    let sharing = sharing.unwrap_or_else(|| panic!("nothing is shared: {calls:#?}"));
    let is_shared = copying[sharing].ends_with(" = 0");
    let from = format!("<{}>", root.join("full").display());
    let by_kernel = |call: &String| call.contains("copy_file_range(") && call.contains(&from);
    assert_eq!(copying[sharing..].iter().any(by_kernel), !is_shared, "{calls:#?}");
}
