//! Fast path for plain downloads: the whole of an open, publicly readable file, for a request without
//! credentials, conditions, ranges or digests. Most downloads are plain, and the cached values of the file
//! suffice to respond.

use std::rc::Rc;
use std::sync::Arc;

use weir_net::service::{Answer, Content, Part, Request};

use super::get::lines_for_anybody;
use super::upload_of;
use crate::area::Area;
use crate::identity::may_tell_who;
use crate::place::Place;
use crate::served_file::ServedFile;

/// Builds the response that [`crate::dispatch::answer`] would give, without its large future. Returns `None`
/// if the request needs the full path.
pub(crate) fn plain(area: &Arc<Area>, request: &Request) -> Option<Answer> {
    if !is_plain(area, request) {
        return None;
    }
    let place = Place::of(area, request.path()).ok()?;
    // If the area opens files as local users, no files are kept open.
    let (file, known) =
        area.open_files.kept(&place.path, |known| !place.trailing_slash && known.is_public(&place.full))?;
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

/// Returns true if the response depends only on the file.
fn is_plain(area: &Area, request: &Request) -> bool {
    let is_of_files = !area.plan.precompressed && area.plan.accel_redirect.is_none();
    request.method() == b"GET"
        && is_of_files
        && upload_of(request).is_none()
        && !may_tell_who(area, request)
        && !asks_for_more(request)
}

/// Returns true if the request may have conditions (their names begin with `I`), wanted digests, or a range.
fn asks_for_more(request: &Request) -> bool {
    request.has_initial(b'i') || request.has_initial(b'w') || request.header("Range").is_some()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use weir_config::{Source, load};
    use weir_net::service::{Body, ClientTls};
    use weir_storage::NodeId;

    use super::*;

    const EVERYBODY: &str = "anonymous-read = true";

    fn area(root: &Path) -> Arc<Area> {
        area_with(root, "cache-control = 'max-age=60'", EVERYBODY)
    }

    /// Opens an area with these config keys and these access keys.
    fn area_with(root: &Path, keys: &str, access: &str) -> Arc<Area> {
        let text = format!(
            "[listener.web]\nbind = ':0'\nstorage = 'data'\n\
             [storage-area.data]\nroot = '{}'\n{keys}\n\
             [storage-area.data.access]\n{access}\n",
            root.display()
        );
        let loaded = load(&[Source::new("test", text)], &|_| None).unwrap();
        let node = NodeId::new("test").unwrap();
        Arc::new(Area::open(&loaded.plan.storage_areas[0], (node, 1), None).unwrap())
    }

    async fn in_full(area: &Arc<Area>, request: Request) -> Answer {
        crate::dispatch::answer(Arc::clone(area), Arc::default(), request, Body::of_bytes(Vec::new())).await
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

    #[tokio::test(flavor = "current_thread")]
    async fn whoever_has_a_certificate_is_answered_in_full_and_tls_alone_tells_of_nobody() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "text").unwrap();
        let area = area(root.path());
        assert_eq!(in_full(&area, get("/a")).await.status, 200);
        let tls = Some(ClientTls { subject: "CN=Jo,O=Example".to_owned(), ..ClientTls::default() });
        assert!(plain(&area, &Request { tls, ..get("/a") }).is_none());
        assert!(plain(&area, &Request { tls: Some(ClientTls::default()), ..get("/a") }).is_some());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn where_more_than_the_file_may_matter_everybody_is_answered_in_full() {
        let (root, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(root.path().join("a"), "text").unwrap();
        let policies = beside.path().join("all.cedar");
        fs::write(&policies, "permit(principal, action, resource);").unwrap();
        let by_policies = format!("cedar = '{}'", policies.display());
        let kinds = [
            ("precompressed = true", EVERYBODY, "/a"),
            ("accel-redirect = { prefix = '/files', trusted = '127.0.0.1' }", EVERYBODY, "/a"),
            ("identity-from = '127.0.0.1'", EVERYBODY, "/a"),
            ("token-in-url = true", EVERYBODY, "/a?access_token=x"),
            // Policies may depend on the time and on the client's address.
            ("", by_policies.as_str(), "/a"),
        ];
        for (keys, access, target) in kinds {
            let area = area_with(root.path(), keys, access);
            assert_eq!(in_full(&area, get("/a")).await.status, 200, "{keys} {access}");
            assert!(plain(&area, &get(target)).is_none(), "{keys} {access}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_has_become_of_a_file_or_of_the_way_to_it_is_seen_by_who_asks_next() {
        let (root, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("d")).unwrap();
        fs::write(at("d/a"), "text").unwrap();
        fs::write(at("d/next"), "another text").unwrap();
        fs::write(beside.path().join("a"), "not of the area").unwrap();
        let area = area(root.path());
        let changes: [(&dyn Fn(), Option<u64>); 6] = [
            (&|| fs::rename(at("d/next"), at("d/a")).unwrap(), Some(12)),
            (&|| fs::remove_file(at("d/a")).unwrap(), None),
            (&|| fs::write(at("d/a"), "again").unwrap(), Some(5)),
            (
                &|| {
                    fs::rename(at("d"), at("away")).unwrap();
                    symlink(beside.path(), at("d")).unwrap();
                },
                None,
            ),
            (
                &|| {
                    fs::remove_file(at("d")).unwrap();
                    fs::rename(at("away"), at("d")).unwrap();
                },
                Some(5),
            ),
            (&|| fs::set_permissions(at("d/a"), Permissions::from_mode(0o604)).unwrap(), Some(5)),
        ];
        assert_eq!(in_full(&area, get("/d/a")).await.status, 200);
        let mut is_there = true;
        for (number, (change, length)) in changes.into_iter().enumerate() {
            assert_eq!(plain(&area, &get("/d/a")).is_some(), is_there, "before change {number}");
            change();
            assert!(plain(&area, &get("/d/a")).is_none(), "after change {number}");
            let full = in_full(&area, get("/d/a")).await;
            is_there = full.status == 200;
            let now = full.content.length().filter(|_| is_there);
            assert_eq!(now, length, "after change {number}");
        }
    }
}
