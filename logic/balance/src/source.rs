use std::net::IpAddr;

/// HAProxy's hash of a client's address for `balance source`: its 32-bit words in network order, XORed; not mixed
/// further (`hash-type map-based` without `avalanche`, get_server_sh in backend.c).
///
/// An IPv4 client on a socket of both families hashes as IPv4; HAProxy would hash the mapped IPv6 address it sees
/// there. So a client keeps its server whichever kind of socket it comes in by.
pub(crate) fn hash_of(source: IpAddr) -> u32 {
    match source.to_canonical() {
        IpAddr::V4(address) => address.to_bits(),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            (bits >> 96) as u32 ^ (bits >> 64) as u32 ^ (bits >> 32) as u32 ^ bits as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> u32 {
        hash_of(text.parse().unwrap())
    }

    #[test]
    fn an_address_hashes_to_the_xor_of_its_words() {
        assert_eq!(hash("10.1.2.3"), 0x0a01_0203);
        assert_eq!(hash("2001:db8::7:1:2"), 0x2001_0db8 ^ 0x0000_0007 ^ 0x0001_0002);
    }

    #[test]
    fn an_ipv4_client_hashes_the_same_on_a_socket_of_both_families() {
        assert_eq!(hash("::ffff:10.1.2.3"), hash("10.1.2.3"));
    }
}
