//! Checksums and size of the file on the other server.

use weir_dav::digest::{Algorithm, Digest, parse_digest, parse_repr_digest};

use super::job::Job;
use super::remote::{Lines, Way, line};
use super::tries::Tries;
use crate::client::{Fault, Head};
use crate::transfers::Stage;

/// Builds the headers that ask for checksums in both forms, the preferred algorithms first.
pub(super) fn wishes(preferred: &[Algorithm]) -> Lines {
    let mut order = preferred.to_vec();
    order.extend(Algorithm::ALL.into_iter().filter(|algorithm| !preferred.contains(algorithm)));
    let instance = order.iter().enumerate().map(|(at, algorithm)| match at {
        // Some servers ignore weights and use the first algorithm.
        0 => algorithm.to_string(),
        at => format!("{algorithm};q=0.{}", 9_usize.saturating_sub(at).max(1)),
    });
    let representation = order.iter().enumerate();
    let representation = representation
        .map(|(at, algorithm)| format!("{}={}", algorithm.key(), 10_usize.saturating_sub(at).max(1)));
    vec![
        line("Want-Digest", instance.collect::<Vec<_>>().join(", ")),
        line("Want-Repr-Digest", representation.collect::<Vec<_>>().join(", ")),
    ]
}

/// Returns the checksums of the whole file in a response. Ignores malformed ones.
pub(super) fn told(head: &Head) -> Vec<Digest> {
    let mut digests = parse_digest(&head.list("Digest")).unwrap_or_default();
    digests.extend(parse_repr_digest(&head.list("Repr-Digest")).unwrap_or_default());
    digests
}

/// Asks the other server for the current checksums and size of the file. Retries temporary errors, because a
/// whole file has been transferred by then.
pub(super) async fn ask(job: &Job, preferred: &[Algorithm]) -> Result<(Vec<Digest>, Head), Fault> {
    let mut tries = Tries::new(job.desk.plan.retries);
    loop {
        match ask_once(job, preferred).await {
            Ok(told) => return Ok(told),
            Err(fault) => tries.again(fault, &job.live).await?,
        }
    }
}

async fn ask_once(job: &Job, preferred: &[Algorithm]) -> Result<(Vec<Digest>, Head), Fault> {
    let answered = Way::new(job).ask("HEAD", &wishes(preferred)).await?;
    job.live.set_stage(Stage::Verifying);
    if answered.head.status != 200 {
        return Err(super::remote::refused("HEAD", job, answered.head.status));
    }
    Ok((told(&answered.head), answered.head))
}

/// Returns the size of a file, from the response to a HEAD.
pub(super) fn size(head: &Head) -> Option<u64> {
    std::str::from_utf8(head.header("Content-Length")?).ok()?.parse().ok()
}

/// Returns the error for a server that reports no checksum.
pub(super) fn nothing_told(job: &Job) -> Fault {
    Fault::lasting(format!(
        "{} tells no checksum of the file, and one is required",
        job.request.remote.peer()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_computed_anyway_is_asked_for_first() {
        let lines = wishes(&[Algorithm::Sha256]);
        let text = |at: usize| String::from_utf8(lines[at].1.clone()).unwrap();
        assert_eq!(text(0), "sha-256, adler32;q=0.8, crc32c;q=0.7, md5;q=0.6, sha-512;q=0.5");
        assert_eq!(text(1), "sha-256=10, adler=9, crc32c=8, md5=7, sha-512=6");
        for (header, want) in [
            (text(0), Algorithm::choose_want_digest as fn(&[u8], &[Algorithm]) -> Option<Algorithm>),
            (text(1), Algorithm::choose_want_repr_digest),
        ] {
            assert_eq!(want(header.as_bytes(), &Algorithm::ALL), Some(Algorithm::Sha256));
            assert_eq!(
                want(header.as_bytes(), &[Algorithm::Md5, Algorithm::Crc32c]),
                Some(Algorithm::Crc32c)
            );
        }
    }
}
