//! Pushes a file to another server.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use weir_dav::date::{http_date, parse_http_date};
use weir_dav::digest::{Algorithm, Digest, write_digest};
use weir_dav::third_party::Verification;
use weir_http::Framing;
use weir_storage::OpenFile;

use super::job::{Job, PORTION_BYTES, of_storage};
use super::remote::{CONTINUE_PATIENCE, Lines, Way, line, refused};
use super::source::strong_etag;
use super::tries::Tries;
use super::verify;
use crate::client::{Connection, Fault, Head};
use crate::method::GivenUp;
use crate::slow_jobs::watched;
use crate::transfers::Stage;

/// Minimum size of a body, in bytes, for which the server is asked first with `Expect: 100-continue`.
const EXPECT_BYTES_MIN: u64 = 1024 * 1024;

/// Copies an open file from this server to the other one.
pub(super) async fn push(job: &Job, file: Arc<OpenFile>) -> Result<(), Fault> {
    let kept = kept(job, &file).await?;
    job.live.set_size(Some(file.metadata().size));
    if !job.request.overwrite {
        refuse_existing(job).await?;
    }
    let mut tries = Tries::new(job.desk.plan.retries);
    let put = loop {
        job.live.begin_anew();
        let begun = Instant::now();
        let mut sent = Sent::Nothing;
        match attempt(job, &file, &kept, &mut sent).await {
            Ok(head) => break Put { head, took: begun.elapsed() },
            // The response was lost, but the file may have arrived.
            Err(_) if sent == Sent::Whole && has_arrived(job, &file, &kept).await => return Ok(()),
            // The first attempt may have created the file that a second one would find.
            Err(fault) if sent != Sent::Nothing && !job.request.overwrite => return Err(fault),
            Err(fault) => tries.again(fault, &job.live).await?,
        }
    };
    verify(job, &file, &put, kept).await
}

/// Progress of a PUT, as the server may have seen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    Nothing,
    /// The request was sent.
    Begun,
    /// The whole body was sent, but the result is unknown.
    Whole,
}

/// A successful PUT.
struct Put {
    /// Head of the response.
    head: Head,
    /// Time from the request to the response.
    took: Duration,
}

/// Returns true if a PUT without a response has arrived, as proved by a checksum. Without a checksum it might
/// be the old file, and is sent again.
async fn has_arrived(job: &Job, file: &Arc<OpenFile>, kept: &[Digest]) -> bool {
    let Ok((told, head)) = verify::ask(job, &preferred(job, kept)).await else { return false };
    let is_long_enough = verify::size(&head).is_none_or(|size| size == file.metadata().size);
    is_long_enough && matches!(agrees(job, file, kept, &told).await, Ok(Some((true, _))))
}

/// Returns the stored checksums of the file.
async fn kept(job: &Job, file: &Arc<OpenFile>) -> Result<Vec<Digest>, Fault> {
    let (tree, path, file) = (Arc::clone(job.act.tree()), job.act.place.path.clone(), Arc::clone(file));
    job.area().own_disk.run_on(move || tree.checksums(&path, &file)).await.map_err(of_storage)
}

/// Refuses an existing destination, for `Overwrite: F`.
async fn refuse_existing(job: &Job) -> Result<(), Fault> {
    let mut tries = Tries::new(job.desk.plan.retries);
    while let Err(fault) = look_for_existing(job).await {
        tries.again(fault, &job.live).await?;
    }
    Ok(())
}

async fn look_for_existing(job: &Job) -> Result<(), Fault> {
    let answered = Way::new(job).ask("HEAD", &[]).await?;
    match answered.head.status {
        404 | 410 => Ok(()),
        200..=299 => Err(Fault::lasting("there is a file at the destination, and Overwrite is F")),
        status => Err(refused("HEAD", job, status)),
    }
}

/// Sends one PUT and follows its redirections. `sent` returns its progress.
async fn attempt(job: &Job, file: &Arc<OpenFile>, kept: &[Digest], sent: &mut Sent) -> Result<Head, Fault> {
    let size = file.metadata().size;
    let mut own: Lines = vec![line("Content-Length", size.to_string())];
    let told = kept.iter().find(|digest| digest.algorithm() == Algorithm::Adler32).or(kept.first());
    if let Some(digest) = told {
        own.push(line("Digest", write_digest(std::slice::from_ref(digest))));
    }
    if !job.request.overwrite {
        own.push(line("If-None-Match", "*"));
    }
    let mut expects = size >= EXPECT_BYTES_MIN;
    let mut way = Way::new(job);
    loop {
        let mut lines = own.clone();
        if expects {
            lines.push(line("Expect", "100-continue"));
        }
        let mut connection = way.begin("PUT", &lines).await?;
        *sent = Sent::Begun;
        let early = match expects {
            true => {
                connection.response_or_continue(CONTINUE_PATIENCE).await.map_err(|fault| way.blame(fault))?
            }
            false => None,
        };
        let (head, is_whole) = match early {
            Some(head) => (head, false),
            None => match send(job, &mut connection, file).await? {
                Some(head) => (head, false),
                None => {
                    // The server may have to write or read the whole file first.
                    let patience = job.desk.plan.answer_timeout.duration();
                    *sent = Sent::Whole;
                    (connection.response(false, patience).await.map_err(|fault| way.blame(fault))?, true)
                }
            },
        };
        // A gateway that got no response does not know the result either.
        if !matches!(head.status, 502 | 504) {
            *sent = Sent::Begun;
        }
        match head.status {
            200..=299 if is_whole || size == 0 => return Ok(head),
            200..=299 => {
                return Err(way.blame(Fault::lasting("it answered the PUT before it had the whole file")));
            }
            417 if expects => expects = false,
            // A 303 would change the method (RFC 9110 section 15.4.4).
            303 => return Err(refused("PUT", job, 303)),
            status => match way.follow("PUT", &head)? {
                true => job.live.begin_anew(),
                false => return Err(refused("PUT", job, status)),
            },
        }
    }
}

/// Sends the file. Stops at a final response that comes before the end.
async fn send(job: &Job, connection: &mut Connection, file: &Arc<OpenFile>) -> Result<Option<Head>, Fault> {
    let peer = job.request.remote.peer();
    job.live.set_stage(Stage::Moving);
    let size = file.metadata().size;
    let mut at = 0;
    let mut portion = read(job, file, at).await?;
    while at < size {
        if portion.is_empty() {
            return Err(Fault::lasting("here: the file has become shorter"));
        }
        let next = at + portion.len() as u64;
        if next >= size {
            // Check before the last portion is sent: the server discards an incomplete body.
            require_unchanged(job, file).await?;
        }
        let sending = async {
            connection.send(&portion).await?;
            job.moved(portion.len()).await;
            // After the last portion, a response is not early.
            if next < size { connection.early_response().await } else { Ok(None) }
        };
        let (sent, following) = tokio::join!(sending, read(job, file, next));
        match sent {
            Ok(None) => {}
            Ok(early) => return Ok(early),
            Err(fault) => {
                // A server that stops reading may send the reason before it closes.
                return match connection.early_response().await {
                    Ok(Some(head)) => Ok(Some(head)),
                    _ => Err(fault.of(peer)),
                };
            }
        }
        (at, portion) = (next, following?);
    }
    connection.flush().await.map_err(|fault| fault.of(peer))?;
    Ok(None)
}

async fn read(job: &Job, file: &Arc<OpenFile>, at: u64) -> Result<Vec<u8>, Fault> {
    let left = file.metadata().size.saturating_sub(at);
    let room = usize::try_from(left).unwrap_or(usize::MAX).min(PORTION_BYTES);
    if room == 0 {
        return Ok(Vec::new());
    }
    let file = Arc::clone(file);
    let reading = job.act.asker.disk.run_on(move || {
        let mut bytes = vec![0; room];
        let read = file.read(at, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    });
    reading.await.map_err(of_storage)
}

/// Refuses to finish if the file was written meanwhile: the data sent may mix old and new content.
async fn require_unchanged(job: &Job, file: &Arc<OpenFile>) -> Result<(), Fault> {
    let file = Arc::clone(file);
    match job.act.asker.disk.run_on(move || file.is_unchanged()).await.map_err(of_storage)? {
        true => Ok(()),
        false => Err(Fault::lasting("here: the file was changed while it was sent")),
    }
}

/// Verifies the file on the other server, as far as requested and possible.
async fn verify(job: &Job, file: &Arc<OpenFile>, put: &Put, kept: Vec<Digest>) -> Result<(), Fault> {
    job.live.set_stage(Stage::Verifying);
    match job.request.verification {
        Verification::Off => return Ok(()),
        Verification::IfTold => {
            return match fits(&kept, &verify::told(&put.head)) {
                Some((false, _)) => confirm(job, &kept, put).await,
                _ => Ok(()),
            };
        }
        Verification::Required => {}
    }
    let (told, head) = verify::ask(job, &preferred(job, &kept)).await?;
    if verify::size(&head).is_some_and(|size| size != file.metadata().size) {
        return Err(mismatch(job, "size", put, &head).await);
    }
    match agrees(job, file, &kept, &told).await? {
        Some((true, _)) => Ok(()),
        Some((false, algorithm)) => Err(mismatch(job, algorithm, put, &head).await),
        None => Err(verify::nothing_told(job)),
    }
}

/// Returns the algorithms that are most useful for a checksum of the other server.
fn preferred(job: &Job, kept: &[Digest]) -> Vec<Algorithm> {
    match kept {
        [] => job.area().plan.checksums.clone(),
        kept => kept.iter().map(Digest::algorithm).collect(),
    }
}

/// Returns true if the local file has the checksum that the other server reported; `None` if it reported
/// none. Computes the checksum if it is not stored.
async fn agrees(
    job: &Job,
    file: &Arc<OpenFile>,
    kept: &[Digest],
    told: &[Digest],
) -> Result<Option<(bool, Algorithm)>, Fault> {
    let Some(first) = told.first() else { return Ok(None) };
    match fits(kept, told) {
        Some(both) => Ok(Some(both)),
        None => {
            let algorithm = first.algorithm();
            Ok(Some((compute(job, file, algorithm).await?.contains(first), algorithm)))
        }
    }
}

/// Compares checksums, if both sides have one with the same algorithm.
fn fits(kept: &[Digest], told: &[Digest]) -> Option<(bool, Algorithm)> {
    let both = kept.iter().filter_map(|kept| {
        let told = told.iter().find(|told| told.algorithm() == kept.algorithm())?;
        Some((kept == told, kept.algorithm()))
    });
    both.min_by_key(|(is_right, _)| *is_right)
}

/// Verifies again after the response to the PUT had another checksum. That may be the checksum of the
/// response's own content (RFC 9530 section 3), so a HEAD asks for the file's. The client did not require
/// verification. Therefore the file is removed only if it is certainly the one that was sent.
async fn confirm(job: &Job, kept: &[Digest], put: &Put) -> Result<(), Fault> {
    let peer = job.request.remote.peer();
    let asked = verify::ask(job, &preferred(job, kept)).await;
    match asked.as_ref().ok().and_then(|(told, head)| Some((fits(kept, told)?, head))) {
        Some(((true, _), _)) => Ok(()),
        Some(((false, algorithm), head)) => Err(mismatch(job, algorithm, put, head).await),
        // A response without content must have meant the file.
        None if matches!(put.head.framing, Framing::None | Framing::Length(0)) => {
            Err(Fault::lasting(format!(
                "checksum mismatch: {peer} has told another in its answer to the PUT; the file is still there"
            )))
        }
        None => Ok(()),
    }
}

/// Computes a checksum of the local file.
async fn compute(job: &Job, file: &Arc<OpenFile>, algorithm: Algorithm) -> Result<Vec<Digest>, Fault> {
    let (tree, path, file) = (Arc::clone(job.act.tree()), job.act.place.path.clone(), Arc::clone(file));
    let given_up = GivenUp::default();
    let cancelled = Arc::clone(&given_up.0);
    let computing =
        job.area().own_disk.run_long(move || tree.compute_checksums(&path, &file, &[algorithm], &cancelled));
    let what = format!("{algorithm} of {}", job.act.place.full.href(false));
    watched(job.area().plan.name.as_str(), what, computing).await.map_err(of_storage)
}

/// Removes the remote file, whose `head` shows another content, if the PUT created it and it is unchanged.
async fn mismatch(job: &Job, what: impl Display, put: &Put, head: &Head) -> Fault {
    let fate = match only_if_ours(put, head) {
        Err(why) => format!("it is still there: {why}"),
        Ok(condition) => {
            let removed = Way::new(job).ask("DELETE", &[condition]).await;
            match removed.map(|answered| answered.head.status) {
                Ok(200..=299 | 404) => "it was removed there".to_owned(),
                Ok(status) => format!("it is still there: DELETE was answered with status {status}"),
                Err(fault) => format!("it is still there: {fault}"),
            }
        }
    };
    let peer = job.request.remote.peer();
    Fault::lasting(format!("checksum mismatch: the file at {peer} has another {what}; {fate}"))
}

/// Returns the condition that the remote file is the one that the PUT created, so that no other client's file
/// is removed.
fn only_if_ours(put: &Put, head: &Head) -> Result<(String, Vec<u8>), &'static str> {
    let (made, now) = (strong_etag(&put.head), strong_etag(head));
    if let (Some(made), Some(now)) = (&made, &now)
        && !made.strong_eq(now)
    {
        return Err("its entity tag is not that of the PUT, so that it may be somebody else's");
    }
    if let Some(now) = now {
        return Ok(line("If-Match", now.to_bytes()));
    }
    // Without a tag, Last-Modified must lie within the PUT, by the other server's clock.
    let date = |head: &Head, name: &str| head.header(name).and_then(parse_http_date);
    let (Some(ended_s), Some(changed_s)) = (date(&put.head, "Date"), date(head, "Last-Modified")) else {
        return Err("it has neither an entity tag nor a time that says that it is what was sent");
    };
    // Dates have a resolution of one second.
    let began_s = ended_s.saturating_sub_unsigned(put.took.as_secs() + 1);
    match (began_s..=ended_s).contains(&changed_s) {
        true => Ok(line("If-Unmodified-Since", http_date(changed_s))),
        false => Err("its time is not that of the PUT, so that it may be somebody else's"),
    }
}
