use std::net::Ipv4Addr;

/// A name server's answer to a question (RFC 1035 section 4): the header with this code, the question as it came, and an A
/// record for each address, if it asks for those, each good for a second. `None`: it is no question.
pub fn dns_answer(question: &[u8], code: u8, addresses: &[Ipv4Addr]) -> Option<Vec<u8>> {
    let end = name_end(question)?;
    // There are no AAAA records, which is no error.
    let addresses: &[Ipv4Addr] = if dns_asks_for_ipv4(question) { addresses } else { &[] };
    let mut answer = question[..2].to_vec();
    answer.extend_from_slice(&[0x81, 0x80 | code, 0, 1]);
    answer.extend_from_slice(&(addresses.len() as u16).to_be_bytes());
    answer.extend_from_slice(&[0, 0, 0, 0]);
    answer.extend_from_slice(question.get(12..end + 4)?);
    for address in addresses {
        // The name by reference, A, IN, a TTL of 1 second, 4 bytes.
        answer.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4]);
        answer.extend_from_slice(&address.octets());
    }
    Some(answer)
}

/// Whether a question to a name server is for the A records of a name.
pub fn dns_asks_for_ipv4(question: &[u8]) -> bool {
    name_end(question).is_some_and(|end| question.get(end..end + 2) == Some(&[0, 1][..]))
}

/// Where the first question's name ends.
fn name_end(question: &[u8]) -> Option<usize> {
    Some(12 + question.get(12..)?.iter().position(|byte| *byte == 0)? + 1)
}
