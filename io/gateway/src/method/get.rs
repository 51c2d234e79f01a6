//! GET and HEAD of files and directories.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use weir_access::Action;
use weir_access::identity::Identity;
use weir_dav::conditional::{Access, Verdict};
use weir_dav::negotiate::Coding;
use weir_dav::outcome::Outcome;
use weir_dav::path::DavPath;
use weir_dav::range::{ByteRange, ContentRange, Multipart, RangePolicy, Selection};
use weir_net::service::{Answer, Content, Part, Value};
use weir_storage::{OpenFile, StorageError};

use super::accel;
use super::content_guard::guard;
use super::digest::Wanted;
use crate::area::Area;
use crate::area::response_cache::{Known, Marks};
use crate::call::Call;
use crate::headers::{cache_control, judge, judge_chosen};
use crate::place::Place;
use crate::refusal::Refusal;
use crate::served_file::ServedFile;
use crate::{crypto, listing};

/// Responds to GET and HEAD (RFC 9110 sections 9.3.1 and 9.3.2).
pub(crate) async fn get(call: &mut Call, is_head: bool) -> Result<Answer, Refusal> {
    let (call, place) = (&*call, &call.place);
    let action = if is_head { Action::Stat } else { Action::Read };
    match open(call, &place.path).await {
        Ok(file) => {
            permit(&file.known, call, &action, place)?;
            if place.trailing_slash {
                return Err(Outcome::NotFound.into());
            }
            of_file(call, place, file, is_head).await
        }
        Err(StorageError::IsDirectory) => Box::pin(of_directory(call, place.clone(), is_head)).await,
        Err(error) => {
            // A client without the permission must not learn whether the target exists.
            call.permit(&action, place)?;
            Err(error.into())
        }
    }
}

/// An open file with its cached values.
#[derive(Debug, Clone)]
struct Opened {
    file: Arc<OpenFile>,
    known: Arc<Known>,
}

async fn open(call: &Call, path: &DavPath) -> Result<Opened, StorageError> {
    let (file, known) = match call.area.open_files.open(path) {
        Err(StorageError::WouldBlock) => {
            let path = path.clone();
            let file = call.on_disk(move |tree| tree.open(&path)).await?;
            (Arc::new(file), Arc::default())
        }
        opened => opened?,
    };
    Ok(Opened { file, known })
}

async fn of_directory(call: &Call, mut place: Place, is_head: bool) -> Result<Answer, Refusal> {
    let is_written_so = std::mem::replace(&mut place.trailing_slash, true);
    if !is_written_so {
        // Without the slash, relative links on a page of the directory would be wrong.
        if !call.may(&Action::Read, &place)? {
            call.permit(&Action::Stat, &place)?;
        }
        return Err(Refusal::Moved(location(call, &place)));
    }
    for name in &call.area.plan.index {
        let member = place.member(name.as_bytes())?;
        match open(call, &member.path).await {
            Ok(file) => {
                call.permit(if is_head { &Action::Stat } else { &Action::Read }, &member)?;
                return of_file(call, &member, file, is_head).await;
            }
            Err(StorageError::NotFound | StorageError::IsDirectory) => {}
            Err(error) => {
                call.permit(&Action::Read, &member)?;
                return Err(error.into());
            }
        }
    }
    call.permit(&Action::List, &place)?;
    if !call.area.plan.listing {
        return Err(Outcome::Forbidden.into());
    }
    listing::answer(call, &place, is_head).await
}

/// Returns the URL of a directory, with the query of the request.
fn location(call: &Call, place: &Place) -> String {
    let mut location = place.full.href(true);
    if let Some(query) = call.request.query() {
        location.push('?');
        location.push_str(&String::from_utf8_lossy(query));
    }
    location
}

async fn of_file(call: &Call, place: &Place, file: Opened, is_head: bool) -> Result<Answer, Refusal> {
    let content_type = call.area.plan.mime_types.of(place.path.name().unwrap_or_default());
    if let Some(accel) = call.area.accel_redirect(&call.request) {
        return Box::pin(accel::answer(call, place, file.file, (accel, content_type), is_head)).await;
    }
    let sibling = match call.area.plan.precompressed {
        true => Box::pin(compressed(call, place, &file.file, is_head)).await,
        false => None,
    };
    let (path, file, coding) = match &sibling {
        Some((path, file, coding)) => (path, file.clone(), Some(*coding)),
        None => (&place.path, file, None),
    };
    let mut wanted = Wanted::of(&call.request);
    if wanted.is_any() {
        // The digests are those of the file that is sent, which may be the compressed sibling.
        wanted = wanted.within_rights(call, &place.sibling(path.name().unwrap_or_default())?)?;
    }
    let mut wrapping = wrapped(&call.area, &call.identity, content_type, wanted);
    if let Some(coding) = coding {
        wrapping.say_with_content("Content-Encoding", coding.name().into());
    }
    send(call, path, file, is_head, wrapping).await
}

/// Builds the header lines that the area adds to each of its files, for this identity.
fn wrapped(area: &Area, identity: &Identity, content_type: Cow<'static, str>, wanted: Wanted) -> Wrapping {
    let mut wrapping = Wrapping::new(content_type, wanted);
    if area.plan.precompressed {
        wrapping.say_always("Vary", "Accept-Encoding".into());
    }
    if let Some(value) = cache_control(area.plan.cache_control.as_deref(), identity) {
        wrapping.say_always("Cache-Control", value.into());
    }
    for (name, value) in guard(area, &wrapping.content_type) {
        wrapping.say_with_content(name, value);
    }
    wrapping
}

/// Returns all header lines of a full response to an anonymous client.
pub(crate) fn lines_for_anybody(area: &Area, path: &DavPath, marks: &Marks) -> Vec<(&'static str, Value)> {
    let content_type = area.plan.mime_types.of(path.name().unwrap_or_default());
    let Wrapping { content_type, mut lines, ranges, .. } =
        wrapped(area, &Identity::Anonymous, content_type, Wanted::NONE);
    lines.push(accept_ranges(ranges));
    marks.answer(200, lines).content(content_type, Content::Empty).headers
}

fn accept_ranges(ranges: bool) -> (&'static str, Value) {
    ("Accept-Ranges", if ranges { "bytes" } else { "none" }.into())
}

/// Sends the file at a path to a client that a pool server has authorized.
pub(crate) async fn deliver(
    call: &Call,
    place: &Place,
    is_head: bool,
    wrapping: Wrapping,
) -> Result<Answer, Refusal> {
    let file = open(call, &place.path).await?;
    if place.trailing_slash {
        return Err(Outcome::NotFound.into());
    }
    send(call, &place.path, file, is_head, wrapping).await
}

/// Response headers and settings that do not depend on the file's state.
pub(crate) struct Wrapping {
    pub(crate) content_type: Cow<'static, str>,
    /// Header lines of the response: first the `always` lines of every response (also 304), then those of the
    /// content.
    lines: Vec<(&'static str, Value)>,
    /// Number of lines that every response has.
    always: usize,
    /// Set if range requests are permitted.
    pub(crate) ranges: bool,
    /// Set if a pool server chose the file: the same URL may have had another file before.
    pub(crate) chosen: bool,
    pub(crate) wanted: Wanted,
}

impl Wrapping {
    pub(crate) fn new(content_type: Cow<'static, str>, wanted: Wanted) -> Self {
        Self {
            content_type,
            lines: Vec::with_capacity(LINES_USUAL),
            always: 0,
            ranges: true,
            chosen: false,
            wanted,
        }
    }

    /// Adds a line to every response, also 304.
    pub(crate) fn say_always(&mut self, name: &'static str, value: Value) {
        self.lines.insert(self.always, (name, value));
        self.always += 1;
    }

    /// Adds a line to responses with content.
    pub(crate) fn say_with_content(&mut self, name: &'static str, value: Value) {
        self.lines.push((name, value));
    }

    /// Returns true if there is a line with this name. Ignores case.
    pub(crate) fn says(&self, name: &str) -> bool {
        self.lines.iter().any(|(there, _)| there.eq_ignore_ascii_case(name))
    }
}

/// Usual number of header lines in a response with a file.
const LINES_USUAL: usize = 12;

/// Sends a file, or the ranges that the client requests.
async fn send(
    call: &Call,
    path: &DavPath,
    file: Opened,
    is_head: bool,
    wrapping: Wrapping,
) -> Result<Answer, Refusal> {
    let Wrapping { content_type, mut lines, always, ranges, chosen, wanted } = wrapping;
    let Opened { file, known } = file;
    let served = Rc::new(ServedFile::new(file, &call.area));
    let length = served.file.metadata().size;
    let marks = known.marks(served.file.metadata());
    let access = if is_head { Access::Head } else { Access::Get };
    let verdict = match chosen {
        true => judge_chosen(&call.request, access, &marks.validators, call.now_s),
        false => judge(&call.request, access, Some(&marks.validators), call.now_s),
    };
    let range_applies = match verdict {
        Verdict::NotModified => {
            lines.truncate(always);
            return Ok(marks.answer(304, lines));
        }
        Verdict::Failed => return Err(Outcome::PreconditionFailed.into()),
        Verdict::Proceed { range_applies } => range_applies,
    };
    let range = call.request.list("Range").filter(|_| range_applies && ranges);
    let selection = range.map_or(Selection::Whole, |range| RangePolicy::default().select(&range, length));
    // A range carries the digest of the whole representation.
    let (wanted, digests) = match wanted.is_any() {
        true => Box::pin(wanted.look_up(call, path, &served.file)).await?,
        false => (wanted, Vec::new()),
    };
    let first = match &selection {
        Selection::Whole if !is_head => Some(0),
        Selection::Single(range) => Some(range.first()),
        Selection::Several(ranges) => ranges.first().map(|range| range.first()),
        Selection::Whole | Selection::Unsatisfiable => None,
    };
    if let Some(first) = first {
        served.admit(first)?;
    }
    let part = |range: ByteRange| Part::File {
        file: Rc::clone(&served) as _,
        offset: range.first(),
        length: range.bytes(),
    };
    let described = |status| {
        lines.push(accept_ranges(ranges));
        wanted.say(marks.answer(status, lines), &digests)
    };
    Ok(match selection {
        Selection::Unsatisfiable => return Err(Refusal::Range(length)),
        Selection::Whole if is_head => described(200).content(content_type, Content::Length(length)),
        Selection::Whole => {
            served.file.expect_sequential();
            let whole = ByteRange::new(0, length.saturating_sub(1)).filter(|_| length > 0).map(part);
            described(200).content(content_type, Content::Parts(whole.into_iter().collect()))
        }
        Selection::Single(range) => {
            let said = ContentRange::Part { range, complete_bytes: Some(length) };
            described(206)
                .with("Content-Range", said.to_string())
                .content(content_type, Content::Parts(vec![part(range)]))
        }
        Selection::Several(ranges) => {
            let random = u128::from_be_bytes(crypto::random().ok_or(Outcome::Failed)?);
            let framing = Multipart::new(random, &content_type, length);
            let mut parts = Vec::with_capacity(2 * ranges.len() + 1);
            for (at, range) in ranges.into_iter().enumerate() {
                parts.push(Part::Bytes(framing.part_head(range, at == 0).into_bytes()));
                parts.push(part(range));
            }
            parts.push(Part::Bytes(framing.end().into_bytes()));
            described(206).content(framing.content_type(), Content::Parts(parts))
        }
    })
}

/// Returns the compressed sibling of a file that the client prefers and may read. Skips a sibling that is
/// older than the file, because it has other content.
async fn compressed(
    call: &Call,
    place: &Place,
    original: &OpenFile,
    is_head: bool,
) -> Option<(DavPath, Opened, Coding)> {
    let accept = call.request.list("Accept-Encoding")?;
    let action = if is_head { Action::Stat } else { Action::Read };
    let mut available = Coding::ALL.to_vec();
    while let Some(coding) = Coding::choose(Some(&accept), &available) {
        let name = [place.path.name()?, coding.suffix().as_bytes()].concat();
        let sibling = place.sibling(&name).ok()?;
        if call.may(&action, &sibling).is_ok_and(|may| may)
            && let Ok(file) = open(call, &sibling.path).await
            && file.file.metadata().modified >= original.metadata().modified
        {
            return Some((sibling.path, file, coding));
        }
        available.retain(|other| *other != coding);
    }
    None
}

/// Succeeds only if the client may do this with the file. The rules of an area never change. Therefore a path
/// that every client may read is checked only once.
fn permit(known: &Known, call: &Call, action: &Action, place: &Place) -> Result<(), Refusal> {
    let is_for_all = matches!((action, &call.identity), (Action::Read, Identity::Anonymous));
    // Cedar policies may depend on the client's address and on the time.
    let is_for_ever = call.area.plan.access.cedar.is_empty();
    if !is_for_all || !is_for_ever || place.trailing_slash {
        return call.permit(action, place);
    }
    if !known.is_public(&place.full) {
        call.permit(action, place)?;
        known.set_public(&place.full);
    }
    Ok(())
}
