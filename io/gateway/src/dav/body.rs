use weir_dav::outcome::Outcome;
use weir_dav::xml::XmlLimits;

use crate::call::Call;
use crate::refusal::Refusal;

/// The body of a request that has XML, or none.
pub(crate) async fn xml_body(call: &mut Call) -> Result<Vec<u8>, Refusal> {
    let read = call.body.read_all(XmlLimits::default().bytes_max).await.map_err(|_| Refusal::Body)?;
    Ok(read.ok_or(Outcome::BodyTooLarge)?)
}

/// Whether a request comes without a body.
pub(crate) async fn has_no_body(call: &mut Call) -> Result<bool, Refusal> {
    match call.body.length() {
        Some(length) => Ok(length == 0),
        // An empty one in chunks is none, too.
        None => Ok(call.body.read(&mut [0]).await.map_err(|_| Refusal::Body)? == 0),
    }
}
