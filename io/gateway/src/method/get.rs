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

/// GET and HEAD (RFC 9110 sections 9.3.1 and 9.3.2).
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
            // Who may not look is not told whether there is something.
            call.permit(&action, place)?;
            Err(error.into())
        }
    }
}

/// A file that was found.
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
        // Links on a page of the directory would lead elsewhere.
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

/// The URL of a directory, with the query of the request.
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
        // Of what is sent, which may be the sibling.
        wanted = wanted.within_rights(call, &place.sibling(path.name().unwrap_or_default())?)?;
    }
    let mut wrapping = wrapped(&call.area, &call.identity, content_type, wanted);
    if let Some(coding) = coding {
        wrapping.say_with_content("Content-Encoding", coding.name().into());
    }
    send(call, path, file, is_head, wrapping).await
}

/// What an area says of each of its files to somebody.
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

/// All lines of an answer with the whole of a file, for who does not say who they are.
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

/// The file at a path, for a client to whom somebody else has permitted it.
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

/// What an answer says of a file that the file itself does not.
pub(crate) struct Wrapping {
    pub(crate) content_type: Cow<'static, str>,
    /// First those of every answer, 304 too, then those that belong to the content. The answer's lines are made of them.
    lines: Vec<(&'static str, Value)>,
    /// How many of them every answer has.
    always: usize,
    /// Parts of it can be had.
    pub(crate) ranges: bool,
    /// Somebody else has chosen the file: by the same URL it may have been another one before.
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

    /// Adds a line of every answer, 304 too.
    pub(crate) fn say_always(&mut self, name: &'static str, value: Value) {
        self.lines.insert(self.always, (name, value));
        self.always += 1;
    }

    /// Adds a line that belongs to the content.
    pub(crate) fn say_with_content(&mut self, name: &'static str, value: Value) {
        self.lines.push((name, value));
    }

    /// Whether there is a line of this name, in any case.
    pub(crate) fn says(&self, name: &str) -> bool {
        self.lines.iter().any(|(there, _)| there.eq_ignore_ascii_case(name))
    }
}

/// So many header lines an answer has with a file, or a few less.
const LINES_USUAL: usize = 12;

/// A file, or what of it the client asks for.
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
    // A range of a representation has the digest of the representation.
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

/// The compressed sibling of a file that the client likes best, of those that it may have. One that is older than the file was
/// made of another content.
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

/// Goes on only if the client may do this with the file. The rules of an area stay as they are, so a path that every client may read
/// by is asked about once.
fn permit(known: &Known, call: &Call, action: &Action, place: &Place) -> Result<(), Refusal> {
    let is_for_all = matches!((action, &call.identity), (Action::Read, Identity::Anonymous));
    // What Cedar policies say may depend on the client's address and on the time.
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
