//! NGINX's `hash KEY` (ngx_http_upstream_hash_module.c), which is that of Cache::Memcached: of the key's CRC-32 fifteen bits
//! count; if their server cannot be used, those of the key with 1, 2, ... in front are added.
//!
//! Servers that are down stay in the list; after 21 vain tries the servers take turns.

use super::Digest;
use super::by_weight::ByWeight;
use super::crc32::{crc32, join};
use super::nginx_ip_hash::TRIES_MAX;

/// The server for a key, hashed by CRC-32. None if there was no open one within the tries.
pub(crate) fn pick(servers: &ByWeight, key: Digest, is_open: impl Fn(usize) -> bool) -> Option<usize> {
    let mut sum = 0;
    (0..TRIES_MAX).find_map(|try_number| {
        let crc = if try_number == 0 { key.hash } else { again(try_number, key) };
        sum += u64::from(crc >> 16 & 0x7fff);
        servers.at(sum).filter(|slot| is_open(*slot))
    })
}

/// The CRC of the number in decimal digits and the key.
fn again(try_number: usize, key: Digest) -> u32 {
    let digits = [b'0' + (try_number / 10) as u8, b'0' + (try_number % 10) as u8];
    let digits = if try_number < 10 { &digits[1..] } else { &digits[..] };
    join(crc32(&[digits]), key.hash, key.bytes)
}
