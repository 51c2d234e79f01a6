use crate::head::set;
use crate::{HeaderTable, KnownHeader, RequestHead};

/// What is shown of a request. All else may hold secrets (credentials, cookies), or tell of the network behind a proxy; what a
/// line of an unknown name holds, nobody knows.
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

/// Appends what the final recipient of a TRACE shows its client of the request: the content of a response of type
/// `message/http`, without fields that are likely to be sensitive (RFC 9110 section 9.3.8). `buf` and `table` are those that
/// `head` was parsed from and into.
pub fn append_trace(out: &mut Vec<u8>, buf: &[u8], head: &RequestHead, table: &HeaderTable) {
    out.extend_from_slice(buf.get(head.start as usize..head.lines_start() as usize).unwrap_or_default());
    for entry in table.entries().iter().filter(|entry| SHOWN & entry.known().bit() != 0) {
        out.extend_from_slice(entry.line().of(buf));
    }
    out.extend_from_slice(b"\r\n");
}
