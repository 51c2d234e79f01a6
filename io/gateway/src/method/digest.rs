//! Digests of files for those who want them (RFC 3230, RFC 9530).

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

/// Which digests a request wants, by the two ways to say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Want-Digest.
    instance: Option<Algorithm>,
    /// Want-Repr-Digest.
    representation: Option<Algorithm>,
    /// Nothing is computed for it.
    only_kept: bool,
}

impl Wanted {
    /// None.
    pub(super) const NONE: Self = Self { instance: None, representation: None, only_kept: false };

    /// Of what can be computed at all; which of them are kept is another matter.
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

    /// The same for a client of whom no more is known than that it may ask about a file. If it may not read it, it is told what is kept:
    /// neither is the whole file read for it, nor does it learn which one of the contents that it knows this is.
    pub(super) fn within_rights(self, call: &Call, place: &Place) -> Result<Self, Refusal> {
        let only_kept = self.is_any() && !call.may(&Action::Read, place)?;
        Ok(Self { only_kept, ..self })
    }

    /// Without those that these lines tell already.
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

    /// Whether any is.
    pub(super) fn is_any(self) -> bool {
        self.instance.is_some() || self.representation.is_some()
    }

    /// What is wanted most of what is kept.
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

    /// Adds what is wanted, as far as it is known.
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

    /// The digests of an open file: those that are kept, and what of the wanted ones is missing computed now, unless the
    /// client gives up or may not have that, or the area is one that computes none. And which of them are to be told.
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
        // Of a file that is open: who may ask about it may know them, and they are the area's own to keep.
        let tree = Arc::clone(&call.area.tree);
        let kept = call.area.own_disk.run(move || tree.checksums(&at, &open)).await?;
        // Where nothing is written and nothing kept, each request would have all of the file read once more.
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
            // Those that somebody has computed meanwhile are kept by now.
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

/// Tells a thread, by being dropped, that nobody waits any more.
#[derive(Default)]
pub(crate) struct GivenUp(pub(crate) Arc<AtomicBool>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
