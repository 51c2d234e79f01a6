//! Responses of a name server.

use std::net::Ipv4Addr;

/// Builds a name server's response to a query (RFC 1035 section 4). It has the header with the response code
/// `code`, the question as received, and an A record for each address with a TTL of 1 second. There are no
/// records if the query is for another type. Returns `None` if `question` is not a query.
pub fn dns_answer(question: &[u8], code: u8, addresses: &[Ipv4Addr]) -> Option<Vec<u8>> {
    let end = name_end(question)?;
    // A query for AAAA records gets an empty response without an error.
    let addresses: &[Ipv4Addr] = if dns_asks_for_ipv4(question) { addresses } else { &[] };
    let mut answer = question[..2].to_vec();
    answer.extend_from_slice(&[0x81, 0x80 | code, 0, 1]);
    answer.extend_from_slice(&(addresses.len() as u16).to_be_bytes());
    answer.extend_from_slice(&[0, 0, 0, 0]);
    answer.extend_from_slice(question.get(12..end + 4)?);
    for address in addresses {
        // Pointer to the name, A, IN, TTL 1 second, 4 bytes.
        answer.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4]);
        answer.extend_from_slice(&address.octets());
    }
    Some(answer)
}

/// Returns whether a DNS query is for A records.
pub fn dns_asks_for_ipv4(question: &[u8]) -> bool {
    name_end(question).is_some_and(|end| question.get(end..end + 2) == Some(&[0, 1][..]))
}

/// Returns the offset of the end of the first question's name.
fn name_end(question: &[u8]) -> Option<usize> {
    Some(12 + question.get(12..)?.iter().position(|byte| *byte == 0)? + 1)
}
