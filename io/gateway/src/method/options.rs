//! OPTIONS of a resource and of the server.

use weir_access::Action;
use weir_dav::method::{Kind, Method};
use weir_dav::range::PARTIAL_UPDATE;
use weir_net::service::Answer;

use super::resumable;
use crate::area::Area;
use crate::call::Call;
use crate::refusal::Refusal;

/// Responds with the methods and features of a resource (RFC 9110 section 9.3.7, RFC 4918 section 10.1).
/// Refuses no client, because clients send OPTIONS before they know that credentials are needed. Reveals the
/// kind of resource only to clients that may stat it.
pub(crate) async fn options(call: &mut Call) -> Result<Answer, Refusal> {
    let kind = match call.may(&Action::Stat, &call.place)? {
        false => Kind::File,
        true => match call.metadata_if(&call.place.path).await? {
            Some(metadata) => metadata.dav_kind(),
            None => Kind::Missing,
        },
    };
    let answer = of_kind(&call.area, kind);
    let answer = match call.area.offer().allows(Method::Patch, kind) {
        true => answer.with("Accept-Patch", PARTIAL_UPDATE),
        false => answer,
    };
    let takes_uploads = kind != Kind::Collection && !call.area.plan.read_only;
    Ok(match takes_uploads && call.request.header("Upload-Complete").is_none() {
        true => answer.with("Upload-Limit", resumable::limit(call, call.area.plan.upload_expiry.0 / 1_000)),
        false => answer,
    })
}

/// Builds the OPTIONS response for the whole server.
pub(crate) fn of_server(area: &Area) -> Answer {
    of_kind(area, Kind::Collection)
}

fn of_kind(area: &Area, kind: Kind) -> Answer {
    let offer = area.offer();
    Answer::new(200)
        .with("Allow", offer.allow(kind))
        .with("DAV", offer.dav())
        // Some Microsoft clients use WebDAV only if they see this header.
        .with("MS-Author-Via", "DAV")
        .with("Accept-Ranges", "bytes")
}
