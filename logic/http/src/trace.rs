//! The content of TRACE responses.

use crate::head::set;
use crate::{HeaderTable, KnownHeader, RequestHead};

/// Headers that the response includes. The others may contain secrets (credentials, cookies) or reveal the
/// network behind a proxy, and the contents of an unknown header cannot be judged.
const SHOWN: u64 = set(&[
    KnownHeader::Host,
    KnownHeader::Connection,
    KnownHeader::Te,
    KnownHeader::Upgrade,
    KnownHeader::Expect,
    KnownHeader::Via,
    KnownHeader::MaxForwards,
    KnownHeader::UserAgent,
    KnownHeader::Accept,
    KnownHeader::AcceptEncoding,
    KnownHeader::AcceptLanguage,
    KnownHeader::CacheControl,
    KnownHeader::Pragma,
]);

/// Appends the content of a TRACE response as the final recipient, of type `message/http`: the request
/// without headers that are likely to be sensitive (RFC 9110 section 9.3.8). `head` was parsed from `buf`
/// into `table`.
pub fn append_trace(out: &mut Vec<u8>, buf: &[u8], head: &RequestHead, table: &HeaderTable) {
    out.extend_from_slice(buf.get(head.start as usize..head.lines_start() as usize).unwrap_or_default());
    for entry in table.entries().iter().filter(|entry| SHOWN & entry.known().bit() != 0) {
        out.extend_from_slice(entry.line().of(buf));
    }
    out.extend_from_slice(b"\r\n");
}
