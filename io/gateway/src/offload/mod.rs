//! Offloaded files: a pool server names a file (X-Accel-Redirect, X-Sendfile) and Weir sends it, within the
//! locations that the pool permits.

mod upload;

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::sync::Arc;

use weir_access::identity::Identity;
use weir_access::rule::Circumstances;
use weir_config::plan::{AreaPlan, LocationFiles, OffloadPlan};
use weir_dav::mime;
use weir_dav::outcome::Outcome;
use weir_dav::path::{DavPath, PathError, PathLimits, RequestPath};
use weir_model::Name;
use weir_net::service::{Answer, Body, Delivery, FileOrder, FileTarget, Request, Value};
use weir_storage::{Disk, NodeId};

use crate::area::access_point::plain_path;
use crate::area::{Area, Kept};
use crate::call::Call;
use crate::clock::unix_now_s;
use crate::method::{Wanted, Wrapping, deliver, guard};
use crate::place::Place;
use crate::refusal::{Refusal, refuse};

/// Offload settings of one pool.
#[derive(Debug)]
pub(crate) struct Offload {
    /// Locations, longest prefix first.
    locations: Vec<Location>,
    x_sendfile: bool,
}

/// A location whose files may be named.
#[derive(Debug)]
struct Location {
    prefix: DavPath,
    percent_encoded: bool,
    area: Arc<Area>,
    /// Root of the area, for X-Sendfile paths.
    root: DavPath,
}

/// The reason why a target names no file, for the operator's log.
#[derive(Debug, PartialEq, Eq)]
enum Unknown {
    Path(PathError),
    Undeclared,
    NoPaths,
}

/// Header lines about the content, which a 304 response omits.
const OF_CONTENT: [&str; 7] = [
    "Content-Disposition",
    "Content-Language",
    "Digest",
    "Repr-Digest",
    "Content-Security-Policy",
    "X-Content-Type-Options",
    "Locality",
];

impl Offload {
    /// Opens the roots that a plan names. Blocks on the disk.
    pub(crate) fn open(
        pool: &Name,
        plan: &OffloadPlan,
        areas: &BTreeMap<String, Arc<Area>>,
        node: (NodeId, u64),
        before: Option<&Self>,
    ) -> Result<Self, String> {
        let mut locations = Vec::new();
        for location in &plan.locations {
            let prefix = plain_path(&location.prefix)
                .map_err(|error| format!("prefix {}: {error}", location.prefix))?;
            let area = match &location.files {
                LocationFiles::Area(name) => {
                    let area =
                        areas.get(name.as_str()).ok_or_else(|| format!("storage area {name} is not open"))?;
                    Arc::clone(area)
                }
                LocationFiles::Root { root, symlinks } => {
                    let plan = AreaPlan::of_directory(pool.clone(), root.clone(), *symlinks);
                    let kept = before.and_then(|before| before.same_directory(&plan)).map(Kept::of);
                    Arc::new(Area::open(&plan, node.clone(), kept)?)
                }
            };
            let root = directory(&area.plan.root).map_err(|error| format!("root: {error}"))?;
            locations.push(Location { prefix, percent_encoded: location.percent_encoded, area, root });
        }
        locations.sort_by_key(|location| std::cmp::Reverse(location.prefix.depth()));
        Ok(Self { locations, x_sendfile: plan.x_sendfile })
    }

    fn same_directory(&self, plan: &AreaPlan) -> Option<&Area> {
        self.locations.iter().map(|location| &*location.area).find(|area| area.plan == *plan)
    }

    /// Returns the storage area of a target and its place there, or the reason why there is none.
    fn area_of(&self, target: &FileTarget) -> Result<(Arc<Area>, Place), String> {
        let (location, found) = self.find(target).map_err(|unknown| unknown.to_string())?;
        let place =
            Place { full: found.path.clone(), path: found.path, trailing_slash: found.trailing_slash };
        Ok((Arc::clone(&location.area), place))
    }

    /// Returns the location of a target and the path below it.
    fn find<'a>(&'a self, target: &FileTarget) -> Result<(&'a Location, RequestPath), Unknown> {
        match target {
            FileTarget::Uri(uri) => self.find_uri(uri),
            FileTarget::Path(_) if !self.x_sendfile => Err(Unknown::NoPaths),
            FileTarget::Path(path) => {
                let full = plain_bytes(path).map_err(Unknown::Path)?;
                let below = |location: &'a Location| Some((location, strip(&full, &location.root)?));
                let found = self.locations.iter().filter_map(below);
                // Choose the deepest root.
                found.min_by_key(|(_, rest)| rest.path.depth()).ok_or(Unknown::Undeclared)
            }
        }
    }

    fn find_uri(&self, uri: &[u8]) -> Result<(&Location, RequestPath), Unknown> {
        // The query has no meaning for a file.
        let path = uri.split(|byte| *byte == b'?').next().unwrap_or_default();
        let encoded = DavPath::parse(path, &PathLimits::default());
        let plain = plain_bytes(uri);
        for location in &self.locations {
            let read = if location.percent_encoded { &encoded } else { &plain };
            if let Ok(read) = read
                && let Some(rest) = strip(read, &location.prefix)
            {
                return Ok((location, rest));
            }
        }
        Err(encoded.err().map_or(Unknown::Undeclared, Unknown::Path))
    }

    /// Responds with the file that a server named, or with an error response.
    pub(crate) async fn deliver(self: Arc<Self>, mut request: Request, order: FileOrder) -> Delivery {
        let named = named(&order.target);
        let of_client = of_client(&order.headers);
        let (location, found) = match self.find(&order.target) {
            Ok(found) => found,
            Err(unknown) => {
                let answer = failed(refuse(Outcome::NotFound, &request), of_client);
                return Delivery { answer, complaint: Some(format!("{named}: {unknown}")) };
            }
        };
        let is_head = request.method() == b"HEAD";
        if !is_head && request.method() != b"GET" {
            // The conditions applied to another method, and the server has evaluated them.
            keep_unconditional(&mut request);
        }
        let place =
            Place { full: found.path.clone(), path: found.path, trailing_slash: found.trailing_slash };
        let mut wrapping = wrapping(&location.area, &request, &place, order);
        guarded(&location.area, &mut wrapping);
        let call = Call {
            disk: disk_of(&location.area),
            area: Arc::clone(&location.area),
            request,
            body: Body::of_bytes(Vec::new()),
            identity: Identity::Anonymous,
            place: place.clone(),
            now_s: unix_now_s(),
            circumstances: Circumstances::default(),
        };
        match deliver(&call, &place, is_head, wrapping).await {
            Ok(answer) => Delivery { answer, complaint: None },
            Err(refusal) => {
                let (refusal, why) = match refusal {
                    Refusal::Outcome(Outcome::PutOnCollection) => {
                        (Refusal::Outcome(Outcome::Forbidden), "it is a directory")
                    }
                    // The client asked for this condition or range.
                    Refusal::Outcome(Outcome::PreconditionFailed) | Refusal::Range(_) => (refusal, ""),
                    Refusal::Outcome(outcome) => (refusal, outcome.text()),
                    refusal => (refusal, "it cannot be sent"),
                };
                let mut answer = refusal.answer(call.area.offer(), &call.request);
                if why.is_empty() {
                    answer.headers.extend(of_client);
                    return Delivery { answer, complaint: None };
                }
                Delivery { answer: failed(answer, of_client), complaint: Some(format!("{named}: {why}")) }
            }
        }
    }
}

/// Returns the header lines that the server sent for its client and that do not describe the file. They apply
/// to every response.
fn of_client(said: &[(&'static str, Vec<u8>)]) -> Vec<(&'static str, Value)> {
    let is_of_file =
        |name: &&'static str| OF_CONTENT.contains(name) || ["Content-Type", "Accept-Ranges"].contains(name);
    let said = said.iter().filter(|(name, _)| !is_of_file(name));
    said.map(|(name, value)| (*name, value.clone().into())).collect()
}

/// Builds the response that replaces the file. The server's cache lifetime applies to the file, not to this
/// response.
fn failed(mut answer: Answer, of_client: Vec<(&'static str, Value)>) -> Answer {
    let of_client = of_client.into_iter();
    answer.headers.extend(of_client.filter(|(name, _)| !["Cache-Control", "Expires"].contains(name)));
    answer.with("Cache-Control", "no-store")
}

/// Collects the headers that the server sent about the file. The media type defaults to that of the file
/// name.
fn wrapping(area: &Area, request: &Request, place: &Place, order: FileOrder) -> Wrapping {
    let wanted = Wanted::of(request).beside(&order.headers);
    let by_name = area.plan.mime_types.of(place.path.name().unwrap_or_default());
    let mut wrapping = Wrapping::new(by_name, wanted);
    wrapping.chosen = true;
    for (name, value) in order.headers {
        match name {
            "Content-Type" => {
                if let Ok(content_type) = String::from_utf8(value) {
                    wrapping.content_type = content_type.into();
                }
            }
            "Accept-Ranges" => wrapping.ranges = !value.eq_ignore_ascii_case(b"none"),
            name if OF_CONTENT.contains(&name) => wrapping.say_with_content(name, value.into()),
            name => wrapping.say_always(name, value.into()),
        }
    }
    if let Some(charset) = order.charset {
        let charset = String::from_utf8_lossy(&charset);
        wrapping.content_type = mime::with_charset(&wrapping.content_type, &charset).into();
    }
    wrapping
}

/// Adds headers that isolate uploaded files from the site's origin, unless the server sent its own.
fn guarded(area: &Area, wrapping: &mut Wrapping) {
    if area.plan.read_only {
        return;
    }
    for (name, value) in guard(area, &wrapping.content_type) {
        if !wrapping.says(name) {
            wrapping.say_with_content(name, value);
        }
    }
}

/// Returns disk threads for an anonymous client, because the server has already authorized the request.
fn disk_of(area: &Area) -> Disk {
    area.disk_for(&Identity::Anonymous).unwrap_or_else(|| area.disk.clone())
}

/// Describes a server's target for the operator.
fn named(target: &FileTarget) -> String {
    match target {
        FileTarget::Uri(uri) => format!("X-Accel-Redirect to {}", uri.escape_ascii()),
        FileTarget::Path(path) => format!("X-Sendfile of {}", path.escape_ascii()),
    }
}

/// Removes Range and all conditional headers from the request.
fn keep_unconditional(request: &mut Request) {
    let lines = std::mem::take(&mut request.lines);
    let head = &request.head;
    let is_condition = |name: &[u8]| {
        [&b"Range"[..], b"If"].iter().any(|known| name.eq_ignore_ascii_case(known))
            || name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(b"If-"))
    };
    let kept =
        lines.into_iter().filter(|line| !head.get(line.name.clone()).is_some_and(is_condition)).collect();
    request.lines = kept;
}

/// Parses a path without percent-decoding.
fn plain_bytes(text: &[u8]) -> Result<RequestPath, PathError> {
    if text.first() != Some(&b'/') {
        return Err(PathError::NotAbsolute);
    }
    if text.len() > PathLimits::default().bytes_max {
        return Err(PathError::TooLong);
    }
    let mut path = DavPath::root();
    for name in text.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        path = path.join(name)?;
    }
    Ok(RequestPath { path, trailing_slash: text.last() == Some(&b'/') })
}

/// Converts a root directory to a path. A configured root may contain `.` and `..`; the file system resolves
/// `..`. Blocks.
fn directory(root: &Path) -> Result<DavPath, String> {
    let real;
    let root = if root.components().any(|part| part == Component::ParentDir) {
        real = root.canonicalize().map_err(|error| error.to_string())?;
        &real
    } else {
        root
    };
    let mut path = DavPath::root();
    let names = root.as_os_str().as_bytes().split(|byte| *byte == b'/');
    for name in names.filter(|name| !matches!(name, [] | [b'.'])) {
        path = path.join(name).map_err(|error| error.to_string())?;
    }
    Ok(path)
}

fn strip(path: &RequestPath, prefix: &DavPath) -> Option<RequestPath> {
    let rest = path.path.strip_prefix(prefix)?;
    Some(RequestPath { path: rest, trailing_slash: path.trailing_slash })
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(error) => error.fmt(f),
            Self::Undeclared => f.write_str("in no location that the pool declares"),
            Self::NoPaths => f.write_str("the pool does not accept paths"),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_config::{Source, load};

    use super::*;

    /// Opens an offload in which `/i` is percent-encoded, `/i/raw` is not, and `deep` is below the root of
    /// `/i`.
    fn offload(root: &Path) -> Offload {
        std::fs::create_dir_all(root.join("deep")).unwrap();
        let root = root.display();
        let text = format!(
            "[listener.web]\nbind = ':0'\npool = 'app'\n[pool.app]\nservers = 'a:1'\n\
             [pool.app.offload]\nx-sendfile = true\n\
             [[pool.app.offload.location]]\nprefix = '/i'\nroot = '{root}'\n\
             [[pool.app.offload.location]]\nprefix = '/i/raw'\nroot = '{root}/deep'\npercent-encoded = false\n"
        );
        let loaded = load(&[Source::new("test", text)], &|_| None).unwrap();
        let pool = &loaded.plan.pools[0];
        let node = (NodeId::new("test").unwrap(), 1);
        let name = Name::new("app").unwrap();
        Offload::open(&name, pool.offload.as_ref().unwrap(), &BTreeMap::new(), node, None).unwrap()
    }

    #[test]
    fn uris_are_decoded_once_and_lead_nowhere_else() {
        let directory = tempfile::tempdir().unwrap();
        let offload = offload(directory.path());
        let uri = |text: &str| {
            let found = offload.find(&FileTarget::Uri(text.into()));
            found.map(|(location, found)| {
                (location.percent_encoded, String::from_utf8_lossy(found.path.relative_bytes()).into_owned())
            })
        };
        let encoded = |path: &str| Ok((true, path.to_owned()));
        assert_eq!(uri("/i/a"), encoded("a"));
        assert_eq!(uri("//i//a%20b/c%2520?d=/e"), encoded("a b/c%20"));
        assert_eq!(uri("/i/caf\u{e9} x"), encoded("caf\u{e9} x"));
        assert_eq!(uri("/%69/a"), encoded("a"));
        assert_eq!(uri("/i/raw/a%20b?c#d"), Ok((false, "a%20b?c#d".to_owned())));
        for refused in
            ["/i/../a", "/i/%2e%2e/a", "/i/%2E./a", "/i/a%2fb", "/i/a%00", "/i/a%", "/i/a#b", "i/a", ""]
        {
            assert!(matches!(uri(refused), Err(Unknown::Path(_))), "{refused}");
        }
        // Decoded, `..` is no valid path in `/i`. Taken literally, it is none in `/i/raw` either.
        assert!(matches!(uri("/i/raw/../a"), Err(Unknown::Path(_))));
        for undeclared in ["/", "/ia", "/other/i/a", "/I/a"] {
            assert_eq!(uri(undeclared), Err(Unknown::Undeclared), "{undeclared}");
        }
        assert!(matches!(uri("@named"), Err(Unknown::Path(PathError::NotAbsolute))));
    }

    #[test]
    fn a_root_may_be_written_with_dots() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("x")).unwrap();
        let offload = offload(&root.join("x/./.."));
        let found = |path: String| offload.find(&FileTarget::Path(path.into_bytes())).map(|_| ());
        assert_eq!(found(format!("{}/a", root.display())), Ok(()));
        assert_eq!(found("/etc/passwd".to_owned()), Err(Unknown::Undeclared));
    }

    #[test]
    fn paths_are_taken_as_they_are_and_only_below_a_root() {
        let directory = tempfile::tempdir().unwrap();
        let offload = offload(directory.path());
        let root = directory.path().to_str().unwrap();
        let path = |text: String| {
            let found = offload.find(&FileTarget::Path(text.into_bytes()));
            found.map(|(_, found)| String::from_utf8_lossy(found.path.relative_bytes()).into_owned())
        };
        assert_eq!(path(format!("{root}/a%20b")), Ok("a%20b".to_owned()));
        // The deeper root takes precedence.
        assert_eq!(path(format!("{root}/deep/c")), Ok("c".to_owned()));
        assert_eq!(path("/etc/passwd".to_owned()), Err(Unknown::Undeclared));
        assert_eq!(path(format!("{root}x/a")), Err(Unknown::Undeclared));
        assert!(matches!(path(format!("{root}/../a")), Err(Unknown::Path(_))));
        assert!(matches!(path("a".to_owned()), Err(Unknown::Path(_))));
    }
}
