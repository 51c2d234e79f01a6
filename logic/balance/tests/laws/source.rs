use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use weir_balance::{Algorithm, Pick, PickInput, Picker, Roster};

use crate::pool::{Pool, counts, slots};

fn of_client(roster: &Roster, source: IpAddr, exclude: &[usize]) -> Pick {
    Picker::new(0).pick(roster, &PickInput { source: Some(source), exclude, ..PickInput::default() })
}

fn client(bits: u32) -> IpAddr {
    Ipv4Addr::from_bits(bits).into()
}

#[test]
fn a_client_gets_the_place_of_its_address_in_the_map() {
    let roster = Pool::new(Algorithm::Source, &[2, 2, 4]).roster();
    let picks: Vec<Pick> = (0..4).map(|bits| of_client(&roster, client(bits), &[])).collect();
    assert_eq!(picks, [Pick::Server(0), Pick::Server(2), Pick::Server(1), Pick::Server(2)]);
}

#[test]
fn a_server_that_failed_is_passed_over_for_the_same_other_each_time() {
    let roster = Pool::new(Algorithm::Source, &[1; 5]).roster();
    assert_eq!(of_client(&roster, client(7), &[]), Pick::Server(2));
    assert_eq!(of_client(&roster, client(7), &[2]), Pick::Server(3));
    assert_eq!(of_client(&roster, client(7), &[2, 3, 4, 0, 1]), Pick::Server(2));
}

#[test]
fn clients_without_an_address_go_round_by_weight() {
    let roster = Pool::new(Algorithm::Source, &[1, 3]).roster();
    assert_eq!(counts(&slots(&mut Picker::new(5), &roster, 40), 2), [10, 30]);
}

proptest! {
    #[test]
    fn a_client_keeps_its_server_whatever_the_load_and_the_worker(
        weights in prop::collection::vec(1_u32..=20, 1..30), address: IpAddr, seed: u64, random: u64,
    ) {
        let roster = Pool::new(Algorithm::Source, &weights).roster();
        let expected = of_client(&roster, address, &[]);
        for slot in 0..weights.len() {
            roster.begin(slot);
        }
        let input = PickInput { source: Some(address), random, exclude: &[] };
        prop_assert_eq!(Picker::new(seed).pick(&roster, &input), expected);
    }
}
