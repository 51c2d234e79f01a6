//! Fuzzes Destination headers and paths. No segment of a path is `.` or `..`, and its href parses to the same
//! path. The target of a URL of another server is valid in a request line.

use weir_dav::header::{Destination, OwnNames};
use weir_dav::path::{DavPath, PathLimits, RequestPath};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(text: &[u8]) {
    let limits = PathLimits { bytes_max: 256, name_bytes_max: 64, depth_max: 16 };
    let own = OwnNames::new(["h", "[::1]:8080"]).expect("sound names");
    match Destination::parse(text, &own, &limits) {
        Err(_) => {}
        Ok(Destination::Own(read)) => is_sound(&read, &limits),
        Ok(Destination::Elsewhere(url)) => {
            assert!(url.target.starts_with('/') && url.target.bytes().all(|byte| byte.is_ascii_graphic()));
            assert!(!url.host.is_empty() && url.host != "h" && url.port != 0);
        }
    }
    if let Ok(read) = DavPath::parse(text, &limits) {
        is_sound(&read, &limits);
    }
}

fn is_sound(read: &RequestPath, limits: &PathLimits) {
    let path = &read.path;
    assert!(path.depth() <= limits.depth_max && path.relative_bytes().len() <= limits.bytes_max);
    for segment in path.segments() {
        assert!(segment != b"." && segment != b".." && !segment.contains(&0) && !segment.contains(&b'/'));
    }
    assert_eq!(DavPath::parse(path.href(read.trailing_slash).as_bytes(), limits).as_ref(), Ok(read));
}
