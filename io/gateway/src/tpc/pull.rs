//! Pulls a file from another server.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weir_dav::digest::{Algorithm, Digest};
use weir_dav::etag::EntityTag;
use weir_dav::lock::Change;
use weir_dav::path::DavPath;
use weir_dav::third_party::Verification;
use weir_storage::{Commit, Expectation, StorageError, Upload};

use super::job::{Job, PORTION_BYTES, of_storage};
use super::remote::{Way, line, refused};
use super::source::{Pulled, identity, is_part, strong_etag, with_wishes};
use super::tries::Tries;
use super::{parallel, verify};
use crate::client::{Fault, Head, Incoming};
use crate::method::GivenUp;
use crate::transfers::Stage;

/// Conditions for publishing a pulled file.
pub(super) struct Terms {
    pub(super) expect: Expectation,
    pub(super) changes: Vec<(DavPath, Change)>,
}

/// A pull in progress. It can resume if the source file is unchanged.
#[derive(Default)]
struct Begun {
    upload: Option<Upload>,
    etag: Option<EntityTag>,
    length: Option<u64>,
    digests: Vec<Digest>,
}

/// Copies a file from the other server to this one.
pub(super) async fn pull(job: &Job, terms: Terms) -> Result<(), Fault> {
    let pulled = match parallel::pull(job).await? {
        Some(pulled) => pulled,
        None => in_order(job).await?,
    };
    commit(job, terms, pulled).await
}

async fn in_order(job: &Job) -> Result<Pulled, Fault> {
    let mut tries = Tries::new(job.desk.plan.retries);
    let mut begun = Begun::default();
    while let Err(fault) = attempt(job, &mut begun).await {
        tries.reached(begun.upload.as_ref().map_or(0, Upload::received));
        tries.again(fault, &job.live).await?;
    }
    let Begun { upload, length, digests, .. } = begun;
    // A successful attempt leaves the upload here.
    let upload = upload.ok_or_else(|| Fault::lasting("nothing was received"))?;
    Ok(Pulled { upload, length, digests })
}

async fn attempt(job: &Job, begun: &mut Begun) -> Result<(), Fault> {
    let (from, lines) = match (&begun.upload, &begun.etag, begun.length) {
        (Some(upload), Some(etag), Some(length)) if (1..length).contains(&upload.received()) => {
            let from = upload.received();
            let range = format!("bytes={from}-");
            (from, vec![line("Range", range), line("If-Match", etag.to_bytes())])
        }
        // Without a strong entity tag, the rest cannot be matched to the received part.
        _ => (0, Vec::new()),
    };
    let answered = Way::new(job).ask("GET", &with_wishes(job, lines)).await?;
    match answered.head.status {
        206 if from > 0 && continues(&answered.head, begun, from) => {}
        200 => {
            *begun = Begun {
                upload: Some(begin(job, &answered.head).await?),
                etag: strong_etag(&answered.head),
                length: length_of(&answered.head),
                digests: verify::told(&answered.head),
            };
            job.live.begin_anew();
            job.live.set_size(begun.length);
        }
        206 | 412 | 416 if from > 0 => {
            *begun = Begun::default();
            return Err(Fault::passing(format!("{}: the file was changed", job.request.remote.peer())));
        }
        status => return Err(refused("GET", job, status)),
    }
    let body =
        identity(job, &answered.head).and_then(|()| Incoming::new(answered.connection, &answered.head));
    receive(job, body?, begun).await
}

fn length_of(head: &Head) -> Option<u64> {
    match head.framing {
        weir_http::Framing::Length(length) => Some(length),
        _ => None,
    }
}

/// Returns true if a response is the rest of the same file, from this byte on.
fn continues(head: &Head, begun: &Begun, from: u64) -> bool {
    is_part(head, from, begun.length.map(|length| length.saturating_sub(1)), begun.length)
        && strong_etag(head).is_some_and(|now| begun.etag.as_ref().is_some_and(|etag| etag.strong_eq(&now)))
}

/// Returns the algorithms whose digests are computed while the data arrives.
fn algorithms(job: &Job, head: &Head) -> Vec<Algorithm> {
    let mut algorithms = job.area().plan.checksums.clone();
    if job.request.verification != Verification::Off {
        for digest in verify::told(head) {
            if !algorithms.contains(&digest.algorithm()) {
                algorithms.push(digest.algorithm());
            }
        }
    }
    algorithms
}

async fn begin(job: &Job, head: &Head) -> Result<Upload, Fault> {
    let (algorithms, length) = (algorithms(job, head), length_of(head));
    let begin = move |act: &crate::dav::Act| {
        Ok(Upload::begin(act.tree(), &act.asker.disk, &act.place.path, &algorithms, length))
    };
    job.act.run_on(begin).await.map_err(|_| of_storage(StorageError::Cancelled))?.map_err(of_storage)
}

/// Receives the body. Keeps the received part if the body is cut off.
async fn receive(job: &Job, mut body: Incoming, begun: &mut Begun) -> Result<(), Fault> {
    job.live.set_stage(Stage::Moving);
    let disk = job.act.asker.disk.clone();
    let whole = body.length().and_then(|length| usize::try_from(length).ok()?.checked_add(1));
    let capacity = whole.unwrap_or(PORTION_BYTES).clamp(4 * 1024, PORTION_BYTES);
    let (mut portion, mut fault) = job.fill(&mut body, vec![0; capacity]).await;
    let mut spare = Vec::new();
    while !portion.is_empty() {
        let Some(mut upload) = begun.upload.take() else { break };
        let is_last = portion.len() < capacity;
        let writing = disk.run_on(move || {
            upload.write(&portion)?;
            Ok((upload, portion))
        });
        if is_last {
            begun.upload = Some(writing.await.map_err(of_storage)?.0);
            break;
        }
        spare.resize(capacity, 0);
        let (written, (filled, broken)) = tokio::join!(writing, job.fill(&mut body, spare));
        let (upload, written) = written.map_err(of_storage)?;
        begun.upload = Some(upload);
        (portion, spare, fault) = (filled, written, broken);
    }
    fault.map_or(Ok(()), |fault| Err(fault.of(job.request.remote.peer())))
}

/// Verifies the file as far as requested, and publishes it.
async fn commit(job: &Job, terms: Terms, pulled: Pulled) -> Result<(), Fault> {
    job.live.set_stage(Stage::Verifying);
    let Pulled { upload, length, mut digests } = pulled;
    match job.request.verification {
        Verification::Off => digests.clear(),
        Verification::Required if digests.is_empty() => {
            (digests, _) = verify::ask(job, &job.area().plan.checksums).await?;
            if digests.is_empty() {
                return Err(verify::nothing_told(job));
            }
        }
        Verification::Required | Verification::IfTold => {}
    }
    let Terms { expect, changes } = terms;
    let durability = job.area().durability();
    // If the client leaves, nothing more may be read or published.
    let given_up = GivenUp::default();
    let cancelled = Arc::clone(&given_up.0);
    // Checksums of parts that came out of order require reading the whole file.
    let is_long = upload.reads_back(&digests);
    let commit = move |act: &crate::dav::Act| {
        let commit = Commit { durability, expect, digests: &digests, length };
        let mut prepared = match upload.prepare_unless(commit, &cancelled) {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Err(error)),
        };
        let published = act.through(&changes, |gate| {
            prepared.publish_through(&mut |step| {
                gate(&mut || match cancelled.load(Ordering::Relaxed) {
                    true => Err(StorageError::Cancelled),
                    false => step(),
                })
            })
        });
        Ok(published?.and_then(|()| prepared.finish()))
    };
    let committed = if is_long { job.act.run_long_on(commit).await } else { job.act.run_on(commit).await };
    match committed {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(StorageError::Digest(algorithm))) => Err(Fault::lasting(format!(
            "checksum mismatch: what came does not have the {algorithm} that {} tells",
            job.request.remote.peer()
        ))),
        Ok(Err(StorageError::Exists)) => Err(Fault::lasting("here: there is a file at the destination")),
        Ok(Err(error)) => Err(of_storage(error)),
        Err(_) => Err(Fault::lasting("here: the destination was locked or changed meanwhile")),
    }
}
