//! Change of the permission bits of a directory's member, without a race for its name.

use rustix::fd::{AsFd, AsRawFd};
use rustix::fs::{Mode, OFlags, chmod, openat};
use rustix::io::Errno;

use crate::metadata::Found;

/// Changes the permission bits of a directory's member if `is_meant` accepts it. Another process that may
/// write in the directory could replace the member by, for example, a link to a file of Weir; such a
/// replacement is left alone.
///
/// # Errors
/// ELOOP if the member is not the one that is meant.
pub(crate) fn set_mode(
    home: impl AsFd,
    name: &[u8],
    mode: Mode,
    is_meant: impl FnOnce(&Found) -> bool,
) -> Result<(), Errno> {
    // O_PATH, because the current bits may not permit any other way to open it.
    let held = openat(home, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if !Found::of(&held).is_ok_and(|found| is_meant(&found)) {
        return Err(Errno::LOOP);
    }
    // fchmod does not take an O_PATH descriptor. Its link in /proc leads to this very file.
    chmod(format!("/proc/self/fd/{}", held.as_raw_fd()), mode)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_takes_the_name_between_the_look_and_the_change_keeps_its_mode() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
        fs::create_dir(at("meant")).unwrap();
        fs::create_dir(at("victim")).unwrap();
        for name in ["meant", "victim"] {
            fs::set_permissions(at(name), Permissions::from_mode(0o500)).unwrap();
        }
        let home = fs::File::open(directory.path()).unwrap();
        let replaced = |found: &Found| {
            fs::rename(at("meant"), at("moved")).unwrap();
            symlink("victim", at("meant")).unwrap();
            found.is_directory()
        };
        set_mode(&home, b"meant", Mode::RWXU, replaced).unwrap();
        assert_eq!((mode("moved"), mode("victim")), (0o700, 0o500));
        // The link is not accepted.
        assert_eq!(set_mode(&home, b"meant", Mode::RWXU, Found::is_directory), Err(Errno::LOOP));
        assert_eq!(mode("victim"), 0o500);
    }
}
