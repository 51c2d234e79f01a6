//! Which servers the kernel's IPVS itself picks for a thousand connections in a row, none of which ends: recorded by
//! `tests/golden/ipvs/record`.

use std::net::IpAddr;

use weir_balance::{Algorithm, Key, Pick, PickInput, Picker};

use crate::pool::Pool;

/// The weights stand in the first line; then come lines of client, destination and server.
fn assert_recorded(algorithm: Algorithm, text: &str) {
    let (head, lines) = text.split_once('\n').unwrap();
    let weights: Vec<u32> =
        head.rsplit("weights ").next().unwrap().split(' ').map(|weight| weight.parse().unwrap()).collect();
    let mut pool = Pool::new(algorithm, &weights);
    for candidate in &mut pool.candidates {
        candidate.address = format!("192.168.1.{}:8080", 1 + candidate.slot).parse().unwrap();
    }
    let roster = pool.roster();
    let mut picker = Picker::new(0);
    // Where servers are added one by one, the kernel's wrr is in the last pass of a round when it begins: all are equal there.
    let begun = if algorithm == Algorithm::IpvsWrr { weights.len() } else { 0 };
    let mut count = begun;
    for line in lines.lines().skip(begun) {
        let [client, destination, server] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let by_destination = matches!(algorithm, Algorithm::IpvsDh | Algorithm::Lblc | Algorithm::Lblcr);
        let address: IpAddr = if by_destination { destination } else { client }.parse().unwrap();
        let input = PickInput { key: Some(Key::from(address)), ..PickInput::default() };
        let slot: usize = server.parse().unwrap();
        assert_eq!(
            picker.pick(&roster, &input),
            Pick::Server(slot),
            "{algorithm}: connection {count}, {line}"
        );
        roster.begin(slot);
        count += 1;
    }
    assert_eq!(count, 1_000);
}

#[test]
fn a_thousand_connections_get_the_servers_that_the_kernel_gives_them() {
    for (algorithm, text) in [
        (Algorithm::IpvsSh, include_str!("../golden/ipvs-sh.txt")),
        (Algorithm::IpvsDh, include_str!("../golden/ipvs-dh.txt")),
        (Algorithm::IpvsMh, include_str!("../golden/ipvs-mh.txt")),
        (Algorithm::IpvsWrr, include_str!("../golden/ipvs-wrr.txt")),
        (Algorithm::IpvsLc, include_str!("../golden/ipvs-lc.txt")),
        (Algorithm::IpvsWlc, include_str!("../golden/ipvs-wlc.txt")),
        (Algorithm::Sed, include_str!("../golden/ipvs-sed.txt")),
        (Algorithm::Nq, include_str!("../golden/ipvs-nq.txt")),
        (Algorithm::Failover, include_str!("../golden/ipvs-fo.txt")),
        (Algorithm::Overflow, include_str!("../golden/ipvs-ovf.txt")),
        (Algorithm::Lblc, include_str!("../golden/ipvs-lblc.txt")),
        (Algorithm::Lblcr, include_str!("../golden/ipvs-lblcr.txt")),
    ] {
        assert_recorded(algorithm, text);
    }
}
