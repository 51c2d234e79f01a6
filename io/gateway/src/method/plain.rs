//! The plain download: the whole of a file that is kept open and that everybody may read, for a client that says nothing of who it is,
//! of what it has and of what else it wants. Most downloads are such, and what is known of the file is all that it takes to answer them.

use std::rc::Rc;
use std::sync::Arc;

use weir_net::service::{Answer, Content, Part, Request};

use super::get::lines_for_anybody;
use super::upload_of;
use crate::area::Area;
use crate::file::ServedFile;
use crate::identity::may_tell_who;
use crate::place::Place;

/// What [`Call::answer`](crate::call::Call::answer) would say, without the room that any other request may need. `None`: only that
/// can tell.
pub(crate) fn plain(area: &Arc<Area>, request: &Request) -> Option<Answer> {
    if !is_plain(area, request) {
        return None;
    }
    let place = Place::of(area, request.path()).ok()?;
    // Where files are opened as their clients none is kept.
    let (file, known) = area.open_files.kept(&place.path, |known| known.is_public(&place))?;
    let headers =
        known.lines_for_anybody(file.metadata(), |marks| lines_for_anybody(area, &place.path, marks));
    let length = file.metadata().size;
    let served = Rc::new(ServedFile::new(file, area));
    served.admit(0).ok()?;
    served.file.expect_sequential();
    let whole = Part::File { file: served, offset: 0, length };
    let content = Content::Parts(if length > 0 { vec![whole] } else { Vec::new() });
    Some(Answer { headers, content, ..Answer::new(200) })
}

/// Whether nothing but the file can matter to the answer.
fn is_plain(area: &Area, request: &Request) -> bool {
    let is_of_files = !area.plan.precompressed && area.plan.accel_redirect.is_none();
    request.method() == b"GET"
        && is_of_files
        && upload_of(request).is_none()
        && !may_tell_who(area, request)
        && !asks_for_more(request)
}

/// Whether there may be conditions (all of them begin with `If`), a wish for digests, or one for a part.
fn asks_for_more(request: &Request) -> bool {
    request.has_initial(b'i') || request.has_initial(b'w') || request.header("Range").is_some()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use weir_config::{Source, load};
    use weir_net::service::Body;
    use weir_storage::NodeId;

    use super::*;
    use crate::call::Call;

    fn area(root: &Path) -> Arc<Area> {
        let text = format!(
            "[listener.web]\nbind = ':0'\nstorage = 'data'\n\
             [storage-area.data]\nroot = '{}'\ncache-control = 'max-age=60'\n\
             [storage-area.data.access]\nanonymous-read = true\n",
            root.display()
        );
        let loaded = load(&[Source::new("test", text)], &|_| None).unwrap();
        let node = NodeId::new("test").unwrap();
        Arc::new(Area::open(&loaded.plan.storage_areas[0], (node, 1), None).unwrap())
    }

    async fn in_full(area: &Arc<Area>, request: Request) -> Answer {
        Call::answer(Arc::clone(area), Arc::default(), request, Body::of_bytes(Vec::new())).await
    }

    fn get(path: &str) -> Request {
        Request::new("GET", path, &[("Host", "a.org"), ("User-Agent", "test")])
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_plain_download_is_answered_as_in_full_once_something_is_known_of_the_file() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("page.html"), "<p>").unwrap();
        fs::write(root.path().join("a b.txt"), "text").unwrap();
        fs::write(root.path().join("empty"), "").unwrap();
        let area = area(root.path());
        for path in ["/page.html", "/a%20b.txt", "/empty"] {
            assert!(plain(&area, &get(path)).is_none(), "{path}");
            let full = in_full(&area, get(path)).await;
            for _ in 0..2 {
                let answer = plain(&area, &get(path)).unwrap();
                assert_eq!((answer.status, &answer.headers), (200, &full.headers), "{path}");
                assert_eq!(answer.content.length(), full.content.length(), "{path}");
            }
        }
        fs::write(root.path().join("a b.txt"), "longer text").unwrap();
        assert!(plain(&area, &get("/a%20b.txt")).is_none());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn whoever_wants_or_tells_more_is_answered_in_full() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "text").unwrap();
        let area = area(root.path());
        assert_eq!(in_full(&area, get("/a")).await.status, 200);
        assert!(plain(&area, &get("/a")).is_some());
        let lines = [
            ("Range", "bytes=0-1"),
            ("If-None-Match", "*"),
            ("if", "(<DAV:no-lock>)"),
            ("Want-Digest", "adler32"),
            ("Authorization", "Bearer token"),
        ];
        for line in lines {
            assert!(plain(&area, &Request::new("GET", "/a", &[line])).is_none(), "{line:?}");
        }
        for (method, target) in [("HEAD", "/a"), ("PUT", "/a"), ("GET", "/a/"), ("GET", "/"), ("GET", "/b")] {
            assert!(plain(&area, &Request::new(method, target, &[])).is_none(), "{method} {target}");
        }
    }
}
