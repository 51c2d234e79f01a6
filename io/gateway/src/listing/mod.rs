//! Pages that list a directory: HTML for people, JSON for programs.

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

/// A directory with more members is listed in the order of the file system, while it is read: sorting needs all of them.
const SORTED_MAX: usize = 10_000;
/// Members that are read, and sent, at a time.
const BATCH: usize = 1_000;

/// What a page may do that only shows.
const PLAIN_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Writes one form of page. Each call appends to what was written before.
trait Page {
    fn begin(&self, out: &mut String);
    fn entry(&mut self, out: &mut String, entry: &Entry);
    fn end(&self, out: &mut String);
}

/// The page of a directory.
pub(crate) async fn answer(call: &Call, place: &Place, is_head: bool) -> Result<Answer, Refusal> {
    let form = Form::choose(call.request.list("Accept").as_deref());
    let order = Order::of(call.request.query().unwrap_or_default());
    let path = place.path.clone();
    let sight = Sight { asker: Asker::of(call), directory: place.full.clone() };
    let eyes = sight.clone();
    let (listing, mut entries) = call
        .on_disk(move |tree| {
            let mut listing = tree.list(&path)?;
            let mut entries = Vec::new();
            while entries.len() < SORTED_MAX {
                let batch = eyes.next_batch(&mut listing)?;
                if batch.is_empty() {
                    return Ok((None, entries));
                }
                entries.extend(batch);
            }
            Ok((Some(listing), entries))
        })
        .await?;
    let is_whole = listing.is_none();
    if is_whole {
        order.sort(&mut entries);
    }
    let tools = if form == Form::Html { Tools::of(call, place) } else { None };
    // The page needs its own style, and nothing else but the script of its tools; names in it are text, whatever they contain.
    let policy = tools.as_ref().map_or_else(|| PLAIN_POLICY.to_owned(), Tools::policy);
    let mut page: Box<dyn Page> = match form {
        Form::Html => {
            let types = call.area.plan.mime_types.clone();
            Box::new(html::Html::new(place, order, is_whole, tools, types))
        }
        Form::Json => Box::new(json::Json::new(place)),
    };
    let mut text = String::new();
    page.begin(&mut text);
    entries.iter().for_each(|entry| page.entry(&mut text, entry));
    let content = match listing {
        None => {
            page.end(&mut text);
            Content::Bytes(text.into_bytes())
        }
        Some(listing) if is_head => {
            drop(listing);
            Content::Stream { length: None, source: unfold((), |()| async { Ok(None) }) }
        }
        Some(listing) => {
            let disk = call.disk.clone();
            let rest = Rest { page, listing: Some(listing), sight, first: Some(text), disk };
            Content::Stream { length: None, source: unfold(rest, Rest::next) }
        }
    };
    let answer = Answer::new(200)
        .with("X-Content-Type-Options", "nosniff")
        .with("Vary", "Accept")
        .with("Cache-Control", "no-cache")
        .with("Content-Security-Policy", policy);
    Ok(answer.content(form.content_type(), content))
}

/// What the client may see of a directory: as in PROPFIND, a member that it may not look at is not there.
#[derive(Clone)]
struct Sight {
    asker: Asker,
    /// As URLs have it.
    directory: DavPath,
}

impl Sight {
    /// The next members that may be seen; none at the end. Blocks.
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

/// What is still to come of a page.
struct Rest {
    page: Box<dyn Page>,
    /// `None` = all of it was read.
    listing: Option<Listing>,
    sight: Sight,
    first: Option<String>,
    disk: Disk,
}

impl Rest {
    async fn next(mut self) -> std::io::Result<Option<(Vec<u8>, Self)>> {
        if let Some(first) = self.first.take() {
            return Ok(Some((first.into_bytes(), self)));
        }
        let Some(mut listing) = self.listing.take() else { return Ok(None) };
        let sight = self.sight.clone();
        let read = self.disk.run_on(move || {
            let batch = sight.next_batch(&mut listing)?;
            Ok((listing, batch))
        });
        let (listing, batch) =
            read.await.map_err(|error: StorageError| std::io::Error::other(error.to_string()))?;
        let mut text = String::new();
        if batch.is_empty() {
            self.page.end(&mut text);
        } else {
            batch.iter().for_each(|entry| self.page.entry(&mut text, entry));
            self.listing = Some(listing);
        }
        Ok(Some((text.into_bytes(), self)))
    }
}
