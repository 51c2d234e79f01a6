//! Response headers of files, conditional requests and digest headers.

use std::borrow::Cow;

use weir_access::identity::Identity;
use weir_dav::conditional::{Access, Conditions, Validators, Verdict};
use weir_dav::date::{http_date, parse_http_date};
use weir_dav::digest::{Digest, DigestError, parse_content_md5, parse_digest, parse_repr_digest};
use weir_dav::etag::EntityTag;
use weir_dav::outcome::Outcome;
use weir_net::service::{Answer, Request};
use weir_storage::Metadata;

use crate::clock::unix_now_s;

/// Returns the validators (ETag and Last-Modified) of a file.
pub(crate) fn validators(metadata: &Metadata) -> Validators {
    Validators {
        etag: EntityTag::strong(&metadata.version()),
        last_modified_s: Some(metadata.modified.seconds),
    }
}

/// Formats a Last-Modified value. It is never later than the response's Date (RFC 9110 section 8.8.2.1).
pub(crate) fn last_modified(modified_s: i64) -> String {
    http_date(modified_s.min(unix_now_s().cast_signed()))
}

/// Adds the ETag and Last-Modified headers.
pub(crate) fn with_validators(answer: Answer, validators: &Validators) -> Answer {
    let answer = match &validators.etag {
        Some(etag) => answer.with("ETag", etag.to_bytes()),
        None => answer,
    };
    match validators.last_modified_s {
        Some(modified) => answer.with("Last-Modified", last_modified(modified)),
        None => answer,
    }
}

/// Returns the Cache-Control of a response with a file. `of_area` is the value that the area configures.
///
/// A shared cache must not give the response of an authenticated client to others. The cache cannot always
/// detect such a response: a client certificate, or a token in the URL, is no Authorization header (RFC 9111
/// section 3.5, RFC 6750 section 2.3).
pub(crate) fn cache_control(of_area: Option<&str>, identity: &Identity) -> Option<String> {
    if !identity.is_authenticated() {
        return of_area.map(str::to_owned);
    }
    let value = of_area.unwrap_or_default();
    let is = |said: &str, names: [&str; 2]| names.iter().any(|name| said.eq_ignore_ascii_case(name));
    if directives(value).any(|said| is(said, ["private", "no-store"])) {
        return Some(value.to_owned());
    }
    // Some caches prefer these directives over `private`.
    let is_for_shared = |said: &str| is(said.split('=').next().unwrap_or_default(), ["public", "s-maxage"]);
    let mut kept: Vec<&str> = directives(value).filter(|said| !is_for_shared(said)).collect();
    kept.push("private");
    Some(kept.join(", "))
}

/// Splits a Cache-Control value into directives. A comma in quotes does not separate (RFC 9110 section
/// 5.6.4).
fn directives(value: &str) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let ends = move |c: char| {
        let is_end = c == ',' && !is_quoted;
        if c == '"' && !is_escaped {
            is_quoted = !is_quoted;
        }
        is_escaped = c == '\\' && is_quoted && !is_escaped;
        is_end
    };
    value.split(ends).map(str::trim).filter(|said| !said.is_empty())
}

/// Evaluates the conditions of a request against a resource, or against its absence.
pub(crate) fn judge(request: &Request, access: Access, resource: Option<&Validators>, now_s: u64) -> Verdict {
    evaluate(request, request.header("If-Modified-Since"), access, resource, now_s)
}

/// Refuses a request, other than GET and HEAD, if its conditions do not hold for its target: a file, a
/// directory, or nothing.
///
/// # Errors
/// 412 if a condition fails (RFC 9110 section 13.1); the request must not be carried out.
pub(crate) fn require_conditions(request: &Request, found: Option<&Metadata>) -> Result<(), Outcome> {
    match judge(request, Access::Other, found.map(validators).as_ref(), unix_now_s()) {
        Verdict::Failed => Err(Outcome::PreconditionFailed),
        Verdict::Proceed { .. } | Verdict::NotModified => Ok(()),
    }
}

/// Evaluates conditions as [`judge`] does, for a file that a pool server chose. The server may switch to an
/// older file. Therefore If-Modified-Since counts only if its date equals the file's date.
pub(crate) fn judge_chosen(request: &Request, access: Access, file: &Validators, now_s: u64) -> Verdict {
    let is_its_date = |text: &&[u8]| parse_http_date(text) == file.last_modified_s;
    let if_modified_since = request.header("If-Modified-Since").filter(is_its_date);
    evaluate(request, if_modified_since, access, Some(file), now_s)
}

fn evaluate(
    request: &Request,
    if_modified_since: Option<&[u8]>,
    access: Access,
    resource: Option<&Validators>,
    now_s: u64,
) -> Verdict {
    if !request.has_initial(b'i') {
        // All conditional headers begin with `I`, and most downloads have none.
        return Conditions::default().evaluate(access, resource, now_s);
    }
    let lists = [request.list("If-Match"), request.list("If-None-Match")];
    let [if_match, if_none_match] = &lists;
    let conditions = Conditions {
        if_match: if_match.as_deref(),
        if_none_match: if_none_match.as_deref(),
        if_modified_since,
        if_unmodified_since: request.header("If-Unmodified-Since"),
        if_range: request.header("If-Range"),
    };
    conditions.evaluate(access, resource, now_s)
}

/// Returns true if a request has a condition on the existing resource.
pub(crate) fn is_conditional(request: &Request) -> bool {
    ["If-Match", "If-None-Match", "If-Unmodified-Since"].iter().any(|name| request.header(name).is_some())
}

/// Digests that the client requires of its upload (RFC 3230, RFC 9530, RFC 1864).
#[derive(Debug)]
pub(crate) struct Expected {
    /// Digests of the complete file.
    pub(crate) representation: Vec<Digest>,
    /// Digests of the bytes in the request body.
    pub(crate) content: Vec<Digest>,
}

/// Parses the digest headers of a request.
///
/// # Errors
/// If one of the headers is malformed, so that its digest cannot be verified.
pub(crate) fn digests(request: &Request) -> Result<Expected, DigestError> {
    let none = || Ok(Vec::new());
    let list = |name| request.list(name);
    let read = |text: Option<Cow<'_, [u8]>>, parse: fn(&[u8]) -> Result<Vec<Digest>, DigestError>| {
        text.map_or_else(none, |text| parse(&text))
    };
    let mut representation = read(list("Digest"), parse_digest)?;
    representation.extend(read(list("Repr-Digest"), parse_repr_digest)?);
    let mut content = read(list("Content-Digest"), parse_repr_digest)?;
    content.extend(read(list("Content-MD5"), parse_content_md5)?);
    Ok(Expected { representation, content })
}
