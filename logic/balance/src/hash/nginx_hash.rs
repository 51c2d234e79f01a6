//! NGINX's `hash KEY` (ngx_http_upstream_hash_module.c), which is that of Cache::Memcached.
//!
//! Fifteen bits of the key's CRC-32 count. If their server cannot be used, the bits of the key with 1, 2, ...
//! in front are added. Servers that are down stay in the list. After 21 failed tries the servers take turns.

use super::Digest;
use super::by_weight::ByWeight;
use super::crc32::{crc32, join};
use super::nginx_ip_hash::TRIES_MAX;

/// Returns the server for a key hashed by CRC-32; `None` = none found within the permitted tries is open.
pub(crate) fn pick(servers: &ByWeight, key: Digest, is_open: impl Fn(usize) -> bool) -> Option<usize> {
    let mut sum = 0;
    (0..TRIES_MAX).find_map(|try_number| {
        let crc = if try_number == 0 { key.hash } else { again(try_number, key) };
        sum += u64::from(crc >> 16 & 0x7fff);
        servers.at(sum).filter(|slot| is_open(*slot))
    })
}

/// Returns the CRC of the try's decimal number followed by the key.
fn again(try_number: usize, key: Digest) -> u32 {
    let digits = [b'0' + (try_number / 10) as u8, b'0' + (try_number % 10) as u8];
    let digits = if try_number < 10 { &digits[1..] } else { &digits[..] };
    join(crc32(&[digits]), key.hash, key.bytes)
}
