//! Receives the body of an upload request and keeps the received bytes, however the request ends.

use std::time::{Duration, Instant};

use weir_dav::resumable::RESUMPTION_SUPPORTED;
use weir_storage::{Disk, Durability, StorageError, Upload};

use super::RESUMPTION_REASON;
use crate::call::Call;
use crate::method::upload::PORTION_BYTES;
use crate::refusal::Refusal;

/// Amount of data, and time, after which an upload in progress is made durable. If this machine is lost,
/// another one continues from there.
const SETTLED_BYTES: u64 = 256 << 20;
const SETTLED_EVERY: Duration = Duration::from_secs(30);

/// The reason why a body was not received completely.
pub(super) enum Refused {
    /// The body is longer than announced. The upload is worthless.
    TooLong,
    Other(Refusal),
}

/// Settings for keeping received data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keeping {
    pub(super) durability: Durability,
    /// Time at which the upload would expire if no client resumed it since `began`, in seconds since 1970.
    pub(super) expires_s: u64,
    /// Start of the request.
    pub(super) began: Instant,
}

impl Keeping {
    /// Returns the expiry, extended by the duration of this request.
    pub(super) fn expires_s(&self) -> u64 {
        self.expires_s.saturating_add(self.began.elapsed().as_secs())
    }
}

/// An upload that is made durable when dropped, on any path.
#[derive(Debug)]
pub(super) struct Kept {
    upload: Option<Upload>,
    keeping: Keeping,
    disk: Disk,
}

impl Kept {
    /// Takes the upload out, to complete or close it.
    pub(super) fn take(mut self) -> Result<Upload, StorageError> {
        self.upload.take().ok_or(StorageError::Cancelled)
    }

    /// Returns the current length of the content.
    pub(super) fn length(&self) -> u64 {
        self.upload.as_ref().map_or(0, Upload::length)
    }

    /// Returns the length that is durable; `None` if the bytes may still be taken back.
    fn settled(&self) -> Option<u64> {
        self.upload.as_ref().filter(|upload| !upload.may_be_taken_back()).map(Upload::length)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.upload.as_mut().ok_or(StorageError::Cancelled)?.write(bytes)
    }

    /// Makes the received data durable, unless it may have to be taken back.
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
            // The client will resume after it, perhaps on another node.
            let _ = upload.settle(keeping.durability, keeping.expires_s());
        });
    }
}

/// Received data that is not written yet.
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

/// Receives a body.
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
            // The client may discard the data before this offset (section 4.2 of the draft).
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

/// Drops a value on a disk thread, because closing a file may take long.
pub(super) async fn close<T: Send + 'static>(disk: &Disk, held: T) -> Result<(), Refusal> {
    let closing = disk.run_on(move || {
        drop(held);
        Ok(())
    });
    Ok(closing.await?)
}
