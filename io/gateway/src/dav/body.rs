//! Bodies of WebDAV requests.

use weir_dav::outcome::Outcome;
use weir_dav::xml::XmlLimits;

use crate::call::Call;
use crate::refusal::Refusal;

/// Reads a body of XML, which may be empty.
pub(crate) async fn xml_body(call: &mut Call) -> Result<Vec<u8>, Refusal> {
    let read = call.body.read_all(XmlLimits::default().bytes_max).await.map_err(|_| Refusal::Body)?;
    Ok(read.ok_or(Outcome::BodyTooLarge)?)
}

/// Returns true if a request has no body.
pub(crate) async fn has_no_body(call: &mut Call) -> Result<bool, Refusal> {
    match call.body.length() {
        Some(length) => Ok(length == 0),
        // A chunked body without data counts as none too.
        None => Ok(call.body.read(&mut [0]).await.map_err(|_| Refusal::Body)? == 0),
    }
}
