//! Compares IPVS's hashes and caches with the kernel's loops.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use weir_balance::{Algorithm, Candidate, HashOptions, Key, Pick, PickInput, Picker, Scheduling};
use weir_model::{Millis, ServerAddress};

use crate::pool::{Pool, of_key};

fn client(bits: u32) -> Key {
    Key::from(IpAddr::from(Ipv4Addr::from_bits(bits)))
}

/// Returns different addresses that all have the same kernel hash.
fn client_of_six(bits: u32) -> Key {
    let number = bits as u16;
    Key::from(IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, number, 0, 0, 0, number)))
}

fn addresses() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::from(Ipv4Addr::from_bits(bits))),
        any::<u128>().prop_map(|bits| IpAddr::from(Ipv6Addr::from_bits(bits))),
    ]
}

/// Computes addr_fold as all these schedulers do: it XORs an IPv6 address's words as they lie in memory. Then
/// it converts to the machine's byte order (ntohl).
fn folded(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(address) => u32::from_be(u32::from_ne_bytes(address.octets())),
        IpAddr::V6(address) => {
            let octets = address.octets();
            let words = octets.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word));
            u32::from_be(words.fold(0, |sum, word| sum ^ word))
        }
    }
}

/// Computes ip_vs_sh_hashkey and ip_vs_dh_hashkey.
fn place_of_256(address: IpAddr, port: u16, offset: u32) -> usize {
    let hash = folded(address).wrapping_add(u32::from(port)).wrapping_mul(0x61c8_8647) >> 24;
    (offset.wrapping_add(hash) & 255) as usize
}

/// Computes ip_vs_sh_reassign; with every weight 1, ip_vs_dh_reassign.
fn table_of_256(weights: &[u32]) -> Vec<usize> {
    let (mut dest, mut count) = (0, 0);
    let mut table = Vec::new();
    for _ in 0..256 {
        if dest == weights.len() {
            dest = 0;
        }
        table.push(dest);
        count += 1;
        if count >= weights[dest] {
            dest += 1;
            count = 0;
        }
    }
    table
}

/// Computes ip_vs_sh_get_fallback.
fn with_fallback(
    table: &[usize],
    address: IpAddr,
    port: u16,
    is_available: impl Fn(usize) -> bool,
) -> Option<usize> {
    let first = place_of_256(address, port, 0);
    if is_available(table[first]) {
        return Some(table[first]);
    }
    (0..256)
        .map(|offset| table[place_of_256(address, port, (offset + first as u32) % 256)])
        .find(|dest| is_available(*dest))
}

/// Computes hsiphash as a 64-bit kernel does: SipHash-1-3 with two equal halves of the key.
fn hsiphash(number: u32, half: u64) -> u32 {
    let (mut a, mut b) = (0x736f_6d65_7073_6575 ^ half, 0x646f_7261_6e64_6f6d ^ half);
    let (mut c, mut d) = (0x6c79_6765_6e65_7261 ^ half, 0x7465_6462_7974_6573 ^ half);
    let message = 4 << 56 | u64::from(number);
    d ^= message;
    for step in 0..4 {
        if step == 1 {
            a ^= message;
            c ^= 0xff;
        }
        a = u64::wrapping_add(a, b);
        c = u64::wrapping_add(c, d);
        b = b.rotate_left(13) ^ a;
        d = d.rotate_left(16) ^ c;
        a = a.rotate_left(32);
        c = c.wrapping_add(b);
        a = a.wrapping_add(d);
        b = b.rotate_left(17) ^ c;
        d = d.rotate_left(21) ^ a;
        c = c.rotate_left(32);
    }
    (a ^ b ^ c ^ d) as u32
}

/// Computes ip_vs_mh_permutate and ip_vs_mh_populate with the default table index of 12.
fn maglev_table(servers: &[Candidate]) -> Vec<usize> {
    const SIZE: u32 = 4_093;
    fn gcd(a: u32, b: u32) -> u32 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    let weights: Vec<u32> = servers.iter().map(|server| server.weight.get()).collect();
    let divisor = weights.iter().copied().fold(0, gcd);
    let bits = 32 - (weights.iter().max().unwrap() / divisor).leading_zeros() as i32;
    let shift = (bits - 12 / 2).max(0);
    let value = |server: &Candidate| match &server.address {
        ServerAddress::Inet(address) => folded(address.ip()).wrapping_add(u32::from(address.port())),
        other => panic!("{other:?}"),
    };
    let mut perm: Vec<u32> =
        servers.iter().map(|server| hsiphash(value(server), 2_654_435_761) % SIZE).collect();
    let skip: Vec<u32> =
        servers.iter().map(|server| hsiphash(value(server), 2_654_446_892) % (SIZE - 1) + 1).collect();
    let mut table = vec![usize::MAX; SIZE as usize];
    let (mut dest, mut taken, mut turn) = (0, 0, 0);
    while taken < SIZE {
        while table[perm[dest] as usize] != usize::MAX {
            perm[dest] += skip[dest];
            if perm[dest] >= SIZE {
                perm[dest] -= SIZE;
            }
        }
        table[perm[dest] as usize] = dest;
        taken += 1;
        turn += 1;
        if turn >= ((weights[dest] / divisor) >> shift).max(1) {
            turn = 0;
            dest = (dest + 1) % servers.len();
        }
    }
    table
}

/// An entry in the kernel's cache: a key and its servers.
#[derive(Clone)]
struct Cached {
    key: u32,
    /// Servers, the newest first.
    set: Vec<usize>,
    changed_ms: u64,
}

fn active(server: &Candidate) -> u64 {
    u64::from(server.load.active())
}

fn weight(server: &Candidate) -> u64 {
    u64::from(server.weight.get())
}

/// Returns the first of `places` with the least overhead relative to its weight.
fn least(servers: &[Candidate], places: impl Iterator<Item = usize>) -> usize {
    let is_less = |a: usize, b: usize| {
        active(&servers[a]) * weight(&servers[b]) < active(&servers[b]) * weight(&servers[a])
    };
    places.reduce(|best, new| if is_less(new, best) { new } else { best }).unwrap()
}

fn most(servers: &[Candidate], set: &[usize]) -> usize {
    let is_less = |a: usize, b: usize| {
        active(&servers[a]) * weight(&servers[b]) < active(&servers[b]) * weight(&servers[a])
    };
    set.iter().copied().reduce(|most, new| if is_less(most, new) { new } else { most }).unwrap()
}

fn is_overloaded(servers: &[Candidate], dest: usize) -> bool {
    active(&servers[dest]) > weight(&servers[dest])
        && servers.iter().any(|server| active(server) * 2 < weight(server))
}

/// Computes ip_vs_lblc_schedule and ip_vs_lblcr_schedule.
fn schedule(
    cache: &mut Vec<Cached>,
    servers: &[Candidate],
    key: u32,
    now: u64,
    expiration: Option<u64>,
) -> usize {
    let all = || 0..servers.len();
    let Some(entry) = cache.iter_mut().find(|entry| entry.key == key) else {
        let dest = least(servers, all());
        cache.push(Cached { key, set: vec![dest], changed_ms: now });
        return dest;
    };
    let dest = least(servers, entry.set.iter().copied());
    if let Some(expiration) = expiration
        && entry.set.len() > 1
        && now > entry.changed_ms + expiration
    {
        let most = most(servers, &entry.set);
        entry.set.retain(|server| *server != most);
        entry.changed_ms = now;
    }
    if !is_overloaded(servers, dest) {
        return dest;
    }
    let dest = least(servers, all());
    match expiration {
        None => entry.set = vec![dest],
        Some(_) if entry.set.contains(&dest) => {}
        Some(_) => {
            entry.set.insert(0, dest);
            entry.changed_ms = now;
        }
    }
    dest
}

proptest! {
    #[test]
    fn sh_and_dh_pick_as_the_kernel_does(
        weights in prop::collection::vec(1_u32..=40, 1..20),
        full in prop::collection::vec(any::<bool>(), 20),
        clients in prop::collection::vec((addresses(), any::<u16>()), 1..50),
    ) {
        let ones = vec![1; weights.len()];
        for (algorithm, table) in
            [(Algorithm::IpvsSh, table_of_256(&weights)), (Algorithm::IpvsDh, table_of_256(&ones))]
        {
            let mut pool = Pool::new(algorithm, &weights);
            for candidate in &mut pool.candidates {
                candidate.connections_max = full[candidate.slot].then_some(0);
            }
            let roster = pool.roster();
            for (address, port) in &clients {
                let key = Key::Address(*address, *port);
                let expected = with_fallback(&table, *address, *port, |slot| !full[slot]);
                // A server without an entry in the table comes last.
                if let Some(expected) = expected {
                    prop_assert_eq!(of_key(&roster, key, &[]), Pick::Server(expected), "{}", algorithm);
                }
            }
        }
    }

    #[test]
    fn mh_picks_as_the_kernel_does(
        weights in prop::collection::vec(prop_oneof![1_u32..=4, 1_u32..=256], 1..20),
        servers in prop::collection::vec(addresses(), 20),
        clients in prop::collection::vec((addresses(), any::<u16>()), 1..50),
    ) {
        let mut pool = Pool::new(Algorithm::IpvsMh, &weights);
        for (candidate, address) in pool.candidates.iter_mut().zip(servers) {
            candidate.address = ServerAddress::Inet((address, 8_080).into());
        }
        let (roster, table) = (pool.roster(), maglev_table(&pool.candidates));
        for (address, port) in &clients {
            let key = Key::Address(*address, *port);
            let place = hsiphash(folded(*address).wrapping_add(u32::from(*port)), 2_654_435_761) % 4_093;
            prop_assert_eq!(of_key(&roster, key, &[]), Pick::Server(table[place as usize]));
        }
    }

    #[test]
    fn lblc_and_lblcr_pick_as_the_kernel_does(
        weights in prop::collection::vec(1_u32..=6, 1..8),
        replicates: bool,
        is_of_six: bool,
        expiration in 1_u64..2_000,
        events in prop::collection::vec((0_u32..4, 0_u64..500, prop::option::of(any::<prop::sample::Index>())), 1..200),
    ) {
        let algorithm = if replicates { Algorithm::Lblcr } else { Algorithm::Lblc };
        // The kernel's timer never runs in this test; other tests cover it.
        let options = HashOptions { expiration: Millis(expiration), ..HashOptions::of(algorithm) };
        let mut pool = Pool::new(Scheduling { hash: options, ..algorithm.into() }, &weights);
        let mut roster = pool.roster();
        let (mut picker, mut cache, mut running) = (Picker::new(0), Vec::new(), Vec::new());
        let mut now_ms = 1;
        for (key, later, end) in events {
            // The test stays below half an hour of requests.
            now_ms += later;
            if let Some(end) = end.filter(|_| running.len() > 6) {
                let slot: usize = running.swap_remove(end.index(running.len()));
                roster.end(slot, &pool.candidates[slot].load);
                roster = pool.roster_after(&roster);
            }
            let expected =
                schedule(&mut cache, &pool.candidates, key, now_ms, replicates.then_some(expiration));
            let key = if is_of_six { client_of_six(key) } else { client(key) };
            let input = PickInput { key: Some(key), now_ms, ..PickInput::default() };
            prop_assert_eq!(picker.pick(&roster, &input), Pick::Server(expected));
            roster.begin(expected);
            running.push(expected);
        }
        pool.candidates.clear();
    }
}

#[test]
fn a_key_moves_on_when_its_server_goes_and_another_has_its_slot() {
    for algorithm in [Algorithm::Lblc, Algorithm::Lblcr] {
        let mut pool = Pool::new(algorithm, &[1; 3]);
        let roster = pool.roster();
        assert_eq!(of_key(&roster, client(1), &[]), Pick::Server(0));
        pool.candidates[0].load = Default::default();
        let roster = pool.roster_after(&roster);
        roster.begin(0);
        // One request is not too many, so the key would stay with its server.
        assert_eq!(of_key(&roster, client(1), &[]), Pick::Server(1), "{algorithm}");
    }
}

#[test]
fn a_key_leaves_a_server_that_has_failed_it() {
    let roster = Pool::new(Algorithm::Lblc, &[1; 3]).roster();
    assert_eq!(of_key(&roster, client(1), &[]), Pick::Server(0));
    assert_eq!(of_key(&roster, client(1), &[0]), Pick::Server(1));
    assert_eq!(of_key(&roster, client(1), &[]), Pick::Server(1));
}
