//! Uploads that a pool server has authorized. The body becomes an invisible file, which is published when a
//! server confirms it.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;
use weir_access::identity::Identity;
use weir_access::rule::Circumstances;
use weir_dav::digest::write_digest;
use weir_dav::lock::{self, Change};
use weir_dav::method::{Kind, Method};
use weir_dav::outcome::Outcome;
use weir_dav::path::DavPath;
use weir_net::service::{Answer, Body, Content, Delivery, FileTarget, Publish, Request, TakenUpload};
use weir_storage::{Commit, Expectation, Metadata, Prepared, StorageError, Upload};

use super::{Offload, keep_unconditional, named};
use crate::call::Call;
use crate::clock::unix_now_s;
use crate::dav::Act;
use crate::headers::digests;
use crate::method::{GivenUp, receive};
use crate::refusal::Refusal;

impl Offload {
    /// Stores the body of a request in the file that a server has named.
    pub(crate) async fn take_upload(
        self: Arc<Self>,
        mut request: Request,
        body: Body,
        target: FileTarget,
    ) -> Result<TakenUpload, Delivery> {
        let (area, place) =
            self.area_of(&target).map_err(|why| misplaced(format!("{}: {why}", named(&target))))?;
        if area.plan.read_only {
            return Err(misplaced(format!("{}: nothing can be written there", named(&target))));
        }
        if place.path.is_root() || place.trailing_slash {
            return Err(misplaced(format!("{}: it is a directory", named(&target))));
        }
        // The server has already evaluated conditions and lock tokens.
        keep_unconditional(&mut request);
        let identity = Identity::Anonymous;
        let disk = super::disk_of(&area);
        let (now_s, circumstances) = (unix_now_s(), Circumstances::default());
        let mut call = Call { area, request, body, identity, disk, place, now_s, circumstances };
        take(&mut call).await.map_err(|refusal| {
            let why = match &refusal {
                Refusal::Outcome(outcome) | Refusal::Condition(outcome, _) if outcome.status() >= 500 => {
                    outcome.text()
                }
                _ => "",
            };
            let complaint = (!why.is_empty()).then(|| format!("{}: {why}", named(&target)));
            Delivery { answer: refusal.answer(call.area.offer(), &call.request), complaint }
        })
    }
}

/// Builds the 502 for a target that can hold no upload. That is the server's fault, not the client's.
fn misplaced(complaint: String) -> Delivery {
    let page = Content::Bytes(b"502 Bad Gateway\n".to_vec());
    let answer = Answer::new(502).content("text/plain; charset=utf-8", page);
    Delivery { answer, complaint: Some(complaint) }
}

async fn take(call: &mut Call) -> Result<TakenUpload, Refusal> {
    let coding = call.request.header("Content-Encoding");
    if coding.is_some_and(|coding| !coding.eq_ignore_ascii_case(b"identity")) {
        return Err(Outcome::UnknownBody.into());
    }
    let expected = digests(&call.request).map_err(|_| Outcome::BadHeader)?;
    // A whole body is its own representation.
    let expected = [expected.representation, expected.content].concat();
    let act = Act::of(call)?;
    let algorithms = call.area.plan.checksums.clone();
    let length = call.body.length();
    let begin = act.run(move |act| {
        let changes = changes(act)?;
        act.locked(&changes, |_| Ok(()))?;
        let (tree, disk, path) = (act.tree(), &act.asker.disk, &act.place.path);
        Ok(Upload::begin(tree, disk, path, &algorithms, length)?)
    });
    let upload = begin.await?;
    let upload = receive(call, upload).await?;
    let durability = call.area.durability();
    // If the client leaves, the file must not be read further for its digests.
    let given_up = GivenUp::default();
    let cancelled = Arc::clone(&given_up.0);
    let is_long = upload.reads_back(&expected);
    let prepare = move |_: &Act| {
        let commit = Commit { durability, expect: Expectation::Anything, digests: &expected, length };
        Ok(upload.prepare_unless(commit, &cancelled)?)
    };
    let prepared = if is_long { act.run_long_on(prepare).await? } else { act.run_on(prepare).await? };
    let (size, digests) = (prepared.size(), write_digest(prepared.digests()));
    // Of several uploads to one path, the last confirmed one remains. The turn keeps other confirmations for
    // the path waiting until this one is over.
    let turn = call.area.confirmations.turn(call.place.path.clone()).await;
    Ok(TakenUpload { size, digests, publish: publish(act, prepared, turn) })
}

/// Returns the changes to check against locks, for the resource that exists now.
fn changes(act: &Act) -> Result<Vec<(DavPath, Change)>, StorageError> {
    let kind = act.look()?.as_ref().map_or(Kind::Missing, Metadata::dav_kind);
    Ok(lock::changes(Method::Put, (&act.place.path, kind), None))
}

fn publish(act: Act, mut prepared: Prepared, turn: OwnedMutexGuard<()>) -> Publish {
    Box::new(move || {
        Box::pin(async move {
            let _turn = turn;
            let publishing = act.run_on(move |act| {
                let changes = changes(act)?;
                act.through(&changes, |gate| prepared.publish_through(gate))??;
                Ok(prepared.finish()?)
            });
            match publishing.await {
                Ok(_) => Ok(()),
                Err(Refusal::Outcome(outcome) | Refusal::Condition(outcome, _)) => {
                    Err((outcome.status(), outcome.text().to_owned()))
                }
                Err(_) => Err((Outcome::Failed.status(), Outcome::Failed.text().to_owned())),
            }
        })
    })
}
