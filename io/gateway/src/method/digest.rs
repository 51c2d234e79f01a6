//! Digests of files in responses (RFC 3230, RFC 9530).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_access::Action;
use weir_dav::digest::{Algorithm, Digest, write_digest, write_repr_digest};
use weir_dav::path::DavPath;
use weir_net::service::{Answer, Request};
use weir_storage::{OpenFile, StorageError};

use crate::call::Call;
use crate::place::Place;
use crate::refusal::Refusal;
use crate::slow_jobs::watched;

/// Digests that a request asks for, by two different headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Algorithm from Want-Digest.
    instance: Option<Algorithm>,
    /// Algorithm from Want-Repr-Digest.
    representation: Option<Algorithm>,
    /// Set if only stored digests may be used, and none computed.
    only_kept: bool,
}

impl Wanted {
    /// No digests.
    pub(super) const NONE: Self = Self { instance: None, representation: None, only_kept: false };

    /// Parses the request headers. Considers all algorithms that can be computed, stored or not.
    pub(crate) fn of(request: &Request) -> Self {
        if !request.has_initial(b'w') {
            return Self::NONE;
        }
        Self::choose(request, &Algorithm::ALL)
    }

    fn choose(request: &Request, offered: &[Algorithm]) -> Self {
        let list = |name| request.list(name);
        Self {
            instance: list("Want-Digest").and_then(|header| Algorithm::choose_want_digest(&header, offered)),
            representation: list("Want-Repr-Digest")
                .and_then(|header| Algorithm::choose_want_repr_digest(&header, offered)),
            only_kept: false,
        }
    }

    /// Limits this to stored digests unless the client may read the file. A client with only the right to
    /// stat must not cause a read of the whole file. It also must not learn which known content the file has.
    pub(super) fn within_rights(self, call: &Call, place: &Place) -> Result<Self, Refusal> {
        let only_kept = self.is_any() && !call.may(&Action::Read, place)?;
        Ok(Self { only_kept, ..self })
    }

    /// Removes the digests that these header lines already contain.
    pub(crate) fn beside(mut self, told: &[(&'static str, Vec<u8>)]) -> Self {
        let is_told = |name| told.iter().any(|(line, _)| *line == name);
        if is_told("Digest") {
            self.instance = None;
        }
        if is_told("Repr-Digest") {
            self.representation = None;
        }
        self
    }

    /// Returns true if any digest is requested.
    pub(super) fn is_any(self) -> bool {
        self.instance.is_some() || self.representation.is_some()
    }

    /// Chooses the preferred algorithms among the stored digests.
    fn among(self, request: &Request, kept: &[Digest]) -> Self {
        let kept: Vec<_> = kept.iter().map(Digest::algorithm).collect();
        let chosen = Self::choose(request, &kept);
        let instance = self.instance.and(chosen.instance);
        Self { instance, representation: self.representation.and(chosen.representation), ..self }
    }

    fn algorithms(self) -> Vec<Algorithm> {
        let mut algorithms: Vec<_> = self.instance.into_iter().chain(self.representation).collect();
        algorithms.dedup();
        algorithms
    }

    /// Adds the requested digests that are available.
    pub(super) fn say(self, answer: Answer, digests: &[Digest]) -> Answer {
        let of = |wanted: Option<Algorithm>| {
            digests.iter().find(|digest| Some(digest.algorithm()) == wanted).map(std::slice::from_ref)
        };
        let answer = match of(self.instance) {
            Some(digest) => answer.with("Digest", write_digest(digest)),
            None => answer,
        };
        match of(self.representation) {
            Some(digest) => answer.with("Repr-Digest", write_repr_digest(digest)),
            None => answer,
        }
    }

    /// Returns the digests of an open file, and the algorithms to report. Computes missing digests, unless
    /// the client left, may only have stored ones, or the area computes none.
    pub(super) async fn look_up(
        self,
        call: &Call,
        path: &DavPath,
        file: &Arc<OpenFile>,
    ) -> Result<(Self, Vec<Digest>), StorageError> {
        let wanted = self.algorithms();
        if wanted.is_empty() {
            return Ok((self, Vec::new()));
        }
        let missing = move |known: &[Digest]| {
            let is_known =
                |algorithm: &Algorithm| known.iter().any(|digest| digest.algorithm() == *algorithm);
            wanted.iter().copied().filter(|algorithm| !is_known(algorithm)).collect::<Vec<_>>()
        };
        let (at, open) = (path.clone(), Arc::clone(file));
        // The file is open and the client may ask about it, so the area's own identity reads the stored
        // digests.
        let tree = Arc::clone(&call.area.tree);
        let kept = call.area.own_disk.run(move || tree.checksums(&at, &open)).await?;
        // In a read-only area without checksums no digest is stored. Each request would read the whole file
        // again.
        let keeps_none = call.area.plan.read_only && call.area.plan.checksums.is_empty();
        if missing(&kept).is_empty() {
            return Ok((self, kept));
        }
        if self.only_kept || keeps_none {
            return Ok((self.among(&call.request, &kept), kept));
        }
        let metadata = file.metadata();
        let _turn = call.area.flights.turn((metadata.device, metadata.inode)).await;
        let (tree, path, file) = (Arc::clone(&call.area.tree), path.clone(), Arc::clone(file));
        let given_up = GivenUp::default();
        let cancelled = Arc::clone(&given_up.0);
        let computing = call.area.own_disk.run_long(move || {
            // Another request may have computed and stored them meanwhile.
            let mut digests = tree.checksums(&path, &file)?;
            let missing = missing(&digests);
            if !missing.is_empty() {
                digests.extend(tree.compute_checksums(&path, &file, &missing, &cancelled)?);
            }
            Ok(digests)
        });
        let what = format!("checksums of {}", call.place.full.href(false));
        let digests = watched(call.area.plan.name.as_str(), what, computing).await?;
        Ok((self, digests))
    }
}

/// Cancels the work on a thread when dropped.
#[derive(Default)]
pub(crate) struct GivenUp(pub(crate) Arc<AtomicBool>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
