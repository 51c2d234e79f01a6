//! Directory listings: HTML for browsers, JSON for programs.

mod html;
mod json;
mod order;
mod tools;

use weir_access::Action;
use weir_dav::negotiate::Listing as Form;
use weir_dav::path::DavPath;
use weir_net::service::{Answer, Content, unfold};
use weir_storage::{Disk, Entry, Listing, StorageError};

use crate::call::Call;
use crate::dav::Asker;
use crate::place::Place;
use crate::refusal::Refusal;
use order::Order;
use tools::Tools;

/// Maximum number of members that are sorted. A larger directory is sent in the file system's order while it
/// is read, because sorting needs all members in memory.
const SORTED_MAX: usize = 10_000;
/// Number of members that are read and sent at a time.
const BATCH: usize = 1_000;

/// Content-Security-Policy of a page without tools.
const PLAIN_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// One format of a listing. Runs on the disk threads, because a large page takes long to write: the access
/// rules are evaluated for each member. Each call appends to `out`.
trait Page: Send {
    fn begin(&self, out: &mut String);
    fn entry(&mut self, out: &mut String, entry: &Entry);
    fn end(&self, out: &mut String);
}

/// Responds with the listing of a directory.
pub(crate) async fn answer(call: &Call, place: &Place, is_head: bool) -> Result<Answer, Refusal> {
    let form = Form::choose(call.request.list("Accept").as_deref());
    let order = Order::of(call.request.query().unwrap_or_default());
    let sight = Sight { asker: Asker::of(call), directory: place.full.clone() };
    let tools = if form == Form::Html { Tools::of(call, place) } else { None };
    // The page may use only its own style and the script of its tools. Names are escaped text.
    let policy = tools.as_ref().map_or_else(|| PLAIN_POLICY.to_owned(), Tools::policy);
    let place = place.clone();
    let types = call.area.plan.mime_types.clone();
    let (text, rest) = call
        .on_disk(move |tree| {
            let mut listing = tree.list(&place.path)?;
            let mut entries = Vec::new();
            let is_whole = loop {
                let batch = sight.next_batch(&mut listing)?;
                if batch.is_empty() {
                    break true;
                }
                entries.extend(batch);
                if entries.len() >= SORTED_MAX {
                    break false;
                }
            };
            if is_whole {
                order.sort(&mut entries);
            }
            let mut page: Box<dyn Page> = match form {
                Form::Html => Box::new(html::Html::new(&place, order, is_whole, tools, types)),
                Form::Json => Box::new(json::Json::new(&place)),
            };
            let mut text = String::new();
            page.begin(&mut text);
            entries.iter().for_each(|entry| page.entry(&mut text, entry));
            if is_whole {
                page.end(&mut text);
                return Ok((text, None));
            }
            Ok((text, Some(Rest { page, listing, sight })))
        })
        .await?;
    let content = match rest {
        None => Content::Bytes(text.into_bytes()),
        Some(_) if is_head => Content::Stream { length: None, source: unfold((), |()| async { Ok(None) }) },
        Some(rest) => stream(call.disk.clone(), text, rest),
    };
    let answer = Answer::new(200)
        .with("X-Content-Type-Options", "nosniff")
        .with("Vary", "Accept")
        .with("Cache-Control", "no-cache")
        .with("Content-Security-Policy", policy);
    Ok(answer.content(form.content_type(), content))
}

/// Filter for the members that the client may see. As in PROPFIND, members that the client may not stat are
/// omitted.
struct Sight {
    asker: Asker,
    /// Path of the directory in URLs.
    directory: DavPath,
}

impl Sight {
    /// Returns the next visible members; an empty list at the end. Blocks.
    fn next_batch(&self, listing: &mut Listing) -> Result<Vec<Entry>, StorageError> {
        loop {
            let mut batch = listing.next_batch(BATCH)?;
            let is_end = batch.is_empty();
            batch.retain(|entry| {
                let path = self.directory.join(&entry.name);
                path.is_ok_and(|path| self.asker.may(&Action::Stat, &path, entry.metadata.is_directory()))
            });
            if is_end || !batch.is_empty() {
                return Ok(batch);
            }
        }
    }
}

/// The part of a page that is still to be sent.
struct Rest {
    page: Box<dyn Page>,
    listing: Listing,
    sight: Sight,
}

impl Rest {
    /// Writes the next piece. Returns it with the rest of the page, or with `None` after the last piece.
    /// Blocks.
    fn piece(mut self) -> Result<(String, Option<Self>), StorageError> {
        let batch = self.sight.next_batch(&mut self.listing)?;
        let mut text = String::new();
        if batch.is_empty() {
            self.page.end(&mut text);
            return Ok((text, None));
        }
        batch.iter().for_each(|entry| self.page.entry(&mut text, entry));
        Ok((text, Some(self)))
    }
}

/// Streams a page in pieces. The next piece is made when the previous one has been sent. An error aborts the
/// response.
fn stream(disk: Disk, first: String, rest: Rest) -> Content {
    let source = unfold((Some(first), Some(rest)), move |(ready, rest)| {
        let disk = disk.clone();
        async move {
            match (ready, rest) {
                (Some(piece), rest) => Ok(Some((piece.into_bytes(), (None, rest)))),
                (None, None) => Ok(None),
                (None, Some(rest)) => {
                    let made = disk.run_on(move || rest.piece()).await;
                    let (piece, rest) = made.map_err(|error| std::io::Error::other(error.to_string()))?;
                    Ok(Some((piece.into_bytes(), (None, rest))))
                }
            }
        }
    });
    Content::Stream { length: None, source }
}
