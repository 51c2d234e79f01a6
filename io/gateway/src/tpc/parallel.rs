//! Parallel connections for one pull. Each fetches one part of the file in order, and all write into one
//! upload. The checksums are computed from the complete file.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::oneshot;
use weir_dav::etag::EntityTag;
use weir_net::service::LocalFuture;
use weir_storage::{StorageError, Upload};

use super::job::{Job, PORTION_BYTES, of_storage};
use super::remote::{Way, line, refused};
use super::source::{Pulled, identity, is_part, strong_etag, with_wishes};
use super::tries::Tries;
use super::verify;
use crate::client::{Fault, Incoming};
use crate::transfers::Stage;

/// Minimum size of a part, in bytes. Smaller parts are not worth a connection.
const PART_BYTES_MIN: u64 = 1024 * 1024;

/// Upload that all parts write into, as long as any part may still write.
struct Target {
    upload: Upload,
    /// Signals that the upload was dropped. Declared last, because fields are dropped in order.
    _end: oneshot::Sender<()>,
}

/// The part of one connection, with its progress.
struct Stream {
    job: Job,
    target: Arc<Target>,
    etag: EntityTag,
    length: u64,
    /// Offset of the next byte.
    at: u64,
    /// Offset after the last byte.
    end: u64,
    /// Set when the source refused the last attempt with an error status, for example because it permits no
    /// more connections.
    is_refused: bool,
}

/// Result of one attempt of a stream.
enum Ended {
    Whole,
    /// Parallel connections do not work, but one may: the source sends no ranges, limits connections, or the
    /// file has changed.
    NoParts,
}

/// Pulls with as many connections as the client wants and the config permits. Returns `None` if the source or
/// the file does not support that; nothing is left behind.
///
/// The parts belong together only if the file has a strong entity tag, so each request for a part includes
/// it.
pub(super) async fn pull(job: &Job) -> Result<Option<Pulled>, Fault> {
    let wanted = u64::from(job.request.streams.min(job.desk.plan.streams_max));
    if wanted < 2 {
        return Ok(None);
    }
    // A source that does not support HEAD may still support GET.
    let Ok(probe) = Way::new(job).ask("HEAD", &with_wishes(job, Vec::new())).await else { return Ok(None) };
    let head = probe.head;
    let (etag, length) = match (head.status, strong_etag(&head), verify::size(&head)) {
        (200, Some(etag), Some(length)) => (etag, length),
        _ => return Ok(None),
    };
    let count = wanted.min(length / PART_BYTES_MIN);
    if count < 2 || head.header("Accept-Ranges").is_some_and(|units| units.eq_ignore_ascii_case(b"none")) {
        return Ok(None);
    }
    job.live.set_size(Some(length));
    let (end, gone) = oneshot::channel();
    let target = Arc::new(Target { upload: begin(job, length).await?, _end: end });
    let part = length.div_ceil(count);
    let streams = (0..count).map(|number| Stream {
        job: job.clone(),
        target: Arc::clone(&target),
        etag: etag.clone(),
        length,
        at: number * part,
        end: ((number + 1) * part).min(length),
        is_refused: false,
    });
    let streams = streams.map(|stream| Box::pin(stream.run()) as LocalFuture<_>).collect();
    if !all(streams).await? {
        // Writes in progress still hold the upload and its quota, which the new attempt needs.
        drop(target);
        let _ = gone.await;
        job.live.begin_anew();
        return Ok(None);
    }
    let Ok(Target { mut upload, .. }) = Arc::try_unwrap(target) else {
        return Err(Fault::lasting("here: a part is still being written"));
    };
    upload.scattered(length);
    Ok(Some(Pulled { upload, length: Some(length), digests: verify::told(&head) }))
}

async fn begin(job: &Job, length: u64) -> Result<Upload, Fault> {
    let algorithms = job.area().plan.checksums.clone();
    let begin = move |act: &crate::dav::Act| {
        let (disk, path) = (&act.asker.disk, &act.place.path);
        Ok(Upload::begin_scattered(act.tree(), disk, path, &algorithms, length))
    };
    job.act.run_on(begin).await.map_err(|_| of_storage(StorageError::Cancelled))?.map_err(of_storage)
}

/// Runs all streams until they have ended or one has failed. Returns false if a single connection has to do
/// it.
async fn all(streams: Vec<LocalFuture<Result<Ended, Fault>>>) -> Result<bool, Fault> {
    let mut running = streams;
    let mut in_parts = true;
    poll_fn(|cx| {
        let mut at = 0;
        while at < running.len() {
            match running[at].as_mut().poll(cx) {
                Poll::Pending => at += 1,
                Poll::Ready(Ok(Ended::Whole)) => drop(running.swap_remove(at)),
                Poll::Ready(Ok(Ended::NoParts)) => {
                    in_parts = false;
                    running.clear();
                }
                Poll::Ready(Err(fault)) => {
                    running.clear();
                    return Poll::Ready(Err(fault));
                }
            }
        }
        if running.is_empty() { Poll::Ready(Ok(in_parts)) } else { Poll::Pending }
    })
    .await
}

impl Stream {
    async fn run(mut self) -> Result<Ended, Fault> {
        let mut tries = Tries::new(self.job.desk.plan.retries);
        let from = self.at;
        loop {
            match self.attempt().await {
                Ok(ended) => return Ok(ended),
                Err(fault) => {
                    tries.reached(self.at - from);
                    if let Err(fault) = tries.again(fault, &self.job.live).await {
                        // A source that permits only one connection closes, resets or refuses the others.
                        let may_be_one_too_many = self.is_refused || self.at == from;
                        return if may_be_one_too_many { Ok(Ended::NoParts) } else { Err(fault) };
                    }
                }
            }
        }
    }

    async fn attempt(&mut self) -> Result<Ended, Fault> {
        let job = self.job.clone();
        let last = self.end - 1;
        self.is_refused = false;
        let lines = vec![
            line("Range", format!("bytes={}-{last}", self.at)),
            line("If-Match", self.etag.to_bytes()),
            line("Accept-Encoding", "identity"),
        ];
        let answered = Way::new(&job).ask("GET", &lines).await?;
        let head = &answered.head;
        let is_same = strong_etag(head).is_some_and(|etag| etag.strong_eq(&self.etag));
        match head.status {
            206 if is_same && is_part(head, self.at, Some(last), Some(self.length)) => {}
            // The response is no part, or belongs to another version, or cannot be matched to the other
            // parts.
            200 | 206 | 412 | 416 => return Ok(Ended::NoParts),
            status => {
                self.is_refused = true;
                return Err(refused("GET", &job, status));
            }
        }
        identity(&job, head)?;
        let body = Incoming::new(answered.connection, head)?;
        self.receive(&job, body).await?;
        Ok(Ended::Whole)
    }

    async fn receive(&mut self, job: &Job, mut body: Incoming) -> Result<(), Fault> {
        job.live.set_stage(Stage::Moving);
        let disk = job.act.asker.disk.clone();
        let mut spare = vec![0; PORTION_BYTES];
        while self.at < self.end {
            let room = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(PORTION_BYTES);
            spare.resize(room, 0);
            let (portion, fault) = job.fill(&mut body, spare).await;
            let (target, at, bytes) = (Arc::clone(&self.target), self.at, portion.len() as u64);
            let writing = disk.run_on(move || {
                target.upload.write_at(at, &portion)?;
                Ok(portion)
            });
            spare = writing.await.map_err(of_storage)?;
            self.at += bytes;
            if let Some(fault) = fault {
                return Err(fault.of(job.request.remote.peer()));
            }
            if bytes == 0 && self.at < self.end {
                return Err(Fault::passing(format!("{}: a part is too short", job.request.remote.peer())));
            }
        }
        Ok(())
    }
}
