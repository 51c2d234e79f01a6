//! Taking the body of a request to an upload, so that whatever has come of it is kept, however the request ends.

use std::time::{Duration, Instant};

use weir_dav::resumable::RESUMPTION_SUPPORTED;
use weir_storage::{Disk, Durability, StorageError, Upload};

use super::RESUMPTION_REASON;
use crate::call::Call;
use crate::method::upload::PORTION_BYTES;
use crate::refusal::Refusal;

/// What comes in one request is made sure so often, at least: another machine goes on from there if this one is lost.
const SETTLED_BYTES: u64 = 256 << 20;
const SETTLED_EVERY: Duration = Duration::from_secs(30);

/// Why a body has not come to an upload as a whole.
pub(super) enum Refused {
    /// It is longer than was said: the upload is worth nothing any more.
    TooLong,
    Other(Refusal),
}

/// How what comes is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keeping {
    pub(super) durability: Durability,
    /// When an upload is forgotten that nobody has gone on with since this began, in seconds since 1970.
    pub(super) expires_s: u64,
    /// When this began.
    pub(super) began: Instant,
}

impl Keeping {
    /// The same of one that somebody is at work on until now.
    pub(super) fn expires_s(&self) -> u64 {
        self.expires_s.saturating_add(self.began.elapsed().as_secs())
    }
}

/// An upload of which all that has come is made sure when this is dropped, by whom and where ever that happens.
#[derive(Debug)]
pub(super) struct Kept {
    upload: Option<Upload>,
    keeping: Keeping,
    disk: Disk,
}

impl Kept {
    /// The upload, for who decides what becomes of it.
    pub(super) fn take(mut self) -> Result<Upload, StorageError> {
        self.upload.take().ok_or(StorageError::Cancelled)
    }

    /// How long the content is by now.
    pub(super) fn length(&self) -> u64 {
        self.upload.as_ref().map_or(0, Upload::length)
    }

    /// How much of it is sure; `None` = it may all be taken back.
    fn settled(&self) -> Option<u64> {
        self.upload.as_ref().filter(|upload| !upload.may_be_taken_back()).map(Upload::length)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.upload.as_mut().ok_or(StorageError::Cancelled)?.write(bytes)
    }

    /// Makes sure what has come so far, unless it may have to be taken back.
    fn settle(&mut self) -> Result<(), StorageError> {
        let upload = self.upload.as_mut().ok_or(StorageError::Cancelled)?;
        if upload.may_be_taken_back() {
            return Ok(());
        }
        upload.settle(self.keeping.durability, self.keeping.expires_s())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Some(mut upload) = self.upload.take() else { return };
        let keeping = self.keeping;
        self.disk.always(move || {
            // The client will go on behind it, perhaps with another node.
            let _ = upload.settle(keeping.durability, keeping.expires_s());
        });
    }
}

/// What has come and is not written yet.
struct Receiving {
    kept: Option<Kept>,
    portion: Vec<u8>,
    filled: usize,
    disk: Disk,
}

impl Drop for Receiving {
    fn drop(&mut self) {
        let Some(mut kept) = self.kept.take() else { return };
        let (portion, filled) = (std::mem::take(&mut self.portion), self.filled);
        self.disk.always(move || {
            let _ = kept.write(portion.get(..filled).unwrap_or_default());
        });
    }
}

/// Takes a body.
pub(super) async fn receive(
    call: &mut Call,
    upload: Upload,
    length: Option<u64>,
    keeping: Keeping,
) -> Result<Kept, Refused> {
    let disk = call.disk.clone();
    let kept = Some(Kept { upload: Some(upload), keeping, disk: disk.clone() });
    let mut receiving = Receiving { kept, portion: vec![0; PORTION_BYTES], filled: 0, disk };
    let (mut unsettled, mut settled_at) = (0, Instant::now());
    loop {
        let free = receiving.portion.get_mut(receiving.filled..).unwrap_or_default();
        let read = call.body.read(free).await.map_err(|_| Refused::Other(Refusal::Body))?;
        receiving.filled += read;
        if read > 0 && receiving.filled < receiving.portion.len() {
            continue;
        }
        let Some(mut kept) = receiving.kept.take() else { return Err(Refused::Other(Refusal::Body)) };
        let mut portion = std::mem::take(&mut receiving.portion);
        let filled = std::mem::take(&mut receiving.filled);
        if length.is_some_and(|length| length < kept.length().saturating_add(filled as u64)) {
            close(&receiving.disk, kept.take()).await.map_err(Refused::Other)?;
            return Err(Refused::TooLong);
        }
        unsettled += filled as u64;
        let settles = read > 0 && (unsettled >= SETTLED_BYTES || settled_at.elapsed() >= SETTLED_EVERY);
        let writing = receiving.disk.run_on(move || {
            kept.write(portion.get(..filled).unwrap_or_default())?;
            if settles {
                kept.settle()?;
            }
            portion.resize(PORTION_BYTES, 0);
            Ok((kept, portion))
        });
        let (kept, portion) = writing.await.map_err(|error| Refused::Other(error.into()))?;
        if settles {
            (unsettled, settled_at) = (0, Instant::now());
            // Its client need not keep what is before that (section 4.2 of the draft).
            if let (Some(settled), false) = (kept.settled(), call.request.is_http10) {
                let offset = settled.to_string();
                call.body.inform(RESUMPTION_SUPPORTED, RESUMPTION_REASON, &[("Upload-Offset", &offset)]);
            }
        }
        if read == 0 {
            return Ok(kept);
        }
        (receiving.kept, receiving.portion) = (Some(kept), portion);
    }
}

/// Lets go of an upload where closing a file may take its time.
pub(super) async fn close<T: Send + 'static>(disk: &Disk, held: T) -> Result<(), Refusal> {
    let closing = disk.run_on(move || {
        drop(held);
        Ok(())
    });
    Ok(closing.await?)
}
