//! Tests of the places that pass from a finished request to a waiting one.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use weir_balance::{Candidate, Portion, Rank, Roster};
use weir_config::Source;
use weir_model::{ServerName, Weight};

use super::*;
use crate::state::queue::{Grant, Spot, Terms};
use crate::state::{Endpoint, PoolCounters, Shards};
use crate::sticky::StickyState;

/// A sticky pool of two servers.
struct Rig {
    pool: Arc<PoolState>,
    servers: [Arc<ServerState>; 2],
}

/// Settings of one server of the rig.
#[derive(Clone, Copy)]
struct Shape {
    max: u32,
    eligible: bool,
    keeps_clients: bool,
}

const ONE: Shape = Shape { max: 1, eligible: true, keeps_clients: true };

impl Rig {
    fn new(keys: &str) -> Self {
        let text = format!(
            "[weir]\ncontrol = false\nstate = false\n[listener.web]\nbind = \"127.0.0.1:8080\"\npool = \"web\"\n\
             [pool.web]\nservers = \"127.0.0.1:1\"\nsticky = {{ source = true }}\n{keys}"
        );
        let source = Source { name: "test.toml".to_owned(), text };
        let plan = weir_config::load(&[source], &|_| None).unwrap().plan.pools.remove(0);
        let servers = ["a", "b"].map(|name| {
            let slot = usize::from(name == "b");
            let uid = slot as u64 + 1;
            let endpoint = Endpoint::Unresolved;
            Arc::new(ServerState::new(uid, ServerName::new(name).unwrap(), String::new(), slot, endpoint, 1))
        });
        let roster = Arc::new(Roster::new(plan.scheduling(), candidates(&servers, [ONE; 2]), None));
        let counters: Arc<Shards<PoolCounters>> = Arc::new(Shards::new(1));
        let view = PoolView { roster, servers: servers.iter().cloned().map(Some).collect() };
        let sticky = StickyState::new(&plan, None).map(Arc::new);
        Self { pool: Arc::new(PoolState::new(plan, counters, sticky, view)), servers }
    }

    fn publish(&self, shapes: [Shape; 2]) {
        let previous = self.pool.view();
        let candidates = candidates(&self.servers, shapes);
        let roster = Roster::new(self.pool.plan.scheduling(), candidates, Some(&previous.roster));
        let servers = self.servers.iter().cloned().map(Some).collect();
        self.pool.publish(PoolView { roster: Arc::new(roster), servers });
    }

    /// Begins a request at a server. Returns false if there is no place.
    fn begin(&self, server: usize) -> bool {
        self.pool.view().roster.try_begin(server)
    }

    fn end(&self, server: usize, in_room: bool) {
        let server = &self.servers[server];
        self.pool.end(&self.pool.view(), Held { server, slot: server.slot, load: &server.load, in_room });
    }

    /// Enters the queue of that server.
    fn waits_for(&self, server: usize) -> (Spot, oneshot::Receiver<Grant>) {
        let entered = self.servers[server].bound.enter(&TERMS, false, u32::MAX, Instant::now()).unwrap();
        self.pool.queue.count_bound(true);
        entered
    }

    /// Enters the pool's queue.
    fn waits(&self, for_room: bool) -> (Spot, oneshot::Receiver<Grant>) {
        self.pool.queue.enter(&TERMS, for_room, u32::MAX, Instant::now()).unwrap()
    }

    fn active(&self) -> [u32; 2] {
        self.servers.each_ref().map(|server| server.load.active())
    }
}

const TERMS: Terms =
    Terms { rank: Rank { class: 0, client: 0, offset_ms: 0 }, patience: Duration::from_secs(60) };

fn candidates(servers: &[Arc<ServerState>; 2], shapes: [Shape; 2]) -> Vec<Candidate> {
    let candidate = |(server, shape): (&Arc<ServerState>, Shape)| Candidate {
        slot: server.slot,
        rank: server.slot as u32,
        address: "127.0.0.1:1".parse().unwrap(),
        weight: Weight::ONE,
        name_key: 0,
        portion: Portion::WHOLE,
        priority: 0,
        backup: false,
        is_local: true,
        eligible: shape.eligible,
        half_open: false,
        keeps_clients: shape.keeps_clients,
        connections_max: Some(shape.max),
        load: Arc::clone(&server.load),
    };
    servers.iter().zip(shapes).map(candidate).collect()
}

fn place(called: &mut oneshot::Receiver<Grant>) -> Option<ReservedPlace> {
    called.try_recv().ok().and_then(|grant| grant.place)
}

#[test]
fn a_place_that_somebody_waits_for_is_never_free_for_a_newcomer() {
    let rig = Rig::new("");
    assert!(rig.begin(0));
    let (_, mut called) = rig.waits_for(0);
    rig.end(0, false);
    assert!(!rig.begin(0), "between the call and the taking of the place nobody gets it");
    let place = place(&mut called).expect("it has been called");
    assert_eq!((place.server(), rig.active()), (Some((1, 0)), [1, 0]));
    assert!(!place.take());
    rig.end(0, false);
    assert!(rig.begin(0));
}

#[test]
fn a_place_goes_on_to_the_next_one_when_its_waiter_goes_in_that_moment() {
    let rig = Rig::new("");
    assert!(rig.begin(0));
    let (first, first_called) = rig.waits_for(0);
    let (second, mut second_called) = rig.waits_for(0);
    rig.end(0, false);
    // A queue position does the same when it is dropped.
    assert!(rig.servers[0].bound.leave(&first));
    drop(first_called);
    let grant = second_called.try_recv().expect("the second one is called");
    assert!(!rig.begin(0));
    assert!(rig.servers[0].bound.leave(&second));
    drop(grant);
    assert_eq!(rig.active(), [0, 0]);
    assert!(rig.begin(0), "and then it is free");
}

#[test]
fn a_place_that_becomes_free_before_one_has_entered_is_found() {
    let rig = Rig::new("");
    let (_, mut called) = rig.waits_for(0);
    assert!(rig.pool.revise_bound(&rig.pool.view(), &rig.servers[0]));
    assert!(place(&mut called).is_some());
}

#[test]
fn a_place_counts_against_the_pools_limit_until_it_is_given_back() {
    let rig = Rig::new("max-connections = 1");
    assert_eq!(rig.pool.room.claim(), Some(true));
    assert!(rig.begin(0));
    let (_, mut bound) = rig.waits_for(0);
    let (_, mut other) = rig.waits(false);
    rig.end(0, true);
    assert_eq!(rig.pool.room.claim(), None);
    assert!(other.try_recv().is_err());
    drop(place(&mut bound).expect("it has the place"));
    assert!(other.try_recv().is_ok(), "what it gave back is the pool's");
    assert_eq!(rig.pool.room.claim(), Some(true));
}

#[test]
fn one_too_many_has_no_place_to_leave() {
    let rig = Rig::new("");
    rig.publish([Shape { max: 2, ..ONE }, ONE]);
    assert!(rig.begin(0) && rig.begin(0));
    rig.publish([ONE; 2]);
    let (_, mut called) = rig.waits_for(0);
    rig.end(0, false);
    assert!(called.try_recv().is_err());
    rig.end(0, false);
    let place = place(&mut called);
    assert_eq!((place.is_some(), rig.active()), (true, [1, 0]));
}

#[test]
fn room_in_the_pool_is_for_one_who_has_a_server_while_all_others_are_busy() {
    let rig = Rig::new("max-connections = 2");
    // The first server drains.
    rig.publish([Shape { eligible: false, max: 5, ..ONE }, ONE]);
    for server in 0..2 {
        assert_eq!(rig.pool.room.claim(), Some(true));
        assert!(rig.begin(server));
    }
    let (_, mut anybody) = rig.waits(false);
    let (_, mut bound) = rig.waits(true);
    rig.end(0, true);
    assert!(anybody.try_recv().is_err(), "it would find no server");
    assert!(bound.try_recv().is_ok());
}

#[test]
fn of_those_who_could_go_the_one_goes_who_came_first() {
    for for_room in [false, true] {
        let rig = Rig::new("max-connections = 1");
        assert_eq!(rig.pool.room.claim(), Some(true));
        assert!(rig.begin(0));
        let (_, mut first) = rig.waits(for_room);
        std::thread::sleep(Duration::from_millis(1));
        let (_, mut second) = rig.waits(!for_room);
        rig.end(0, true);
        assert!(first.try_recv().is_ok() && second.try_recv().is_err(), "{for_room}");
    }
}

#[test]
fn a_change_calls_those_whose_server_has_changed_and_keeps_the_pace_of_the_others() {
    let rig = Rig::new("");
    assert!(rig.begin(0) && rig.begin(1));
    let (_, mut first) = rig.waits_for(0);
    let (_, mut second) = rig.waits_for(1);
    rig.publish([ONE, ONE]);
    assert!(first.try_recv().is_err() && second.try_recv().is_err(), "nothing has changed");
    rig.publish([ONE, Shape { max: 2, ..ONE }]);
    assert!(first.try_recv().is_err());
    assert!(place(&mut second).is_some());
    rig.publish([Shape { keeps_clients: false, eligible: false, ..ONE }, ONE]);
    assert!(first.try_recv().is_ok_and(|grant| grant.place.is_none()), "it has to look for another");
}

#[test]
fn the_pace_outlives_a_change_of_weights_and_not_one_of_servers() {
    let rig = Rig::new("");
    assert!(rig.begin(0) && rig.begin(1));
    let started = Instant::now();
    // The departures are one second apart.
    for departure in 0..20 {
        let (spot, _) = rig.waits(false);
        let _later = rig.waits(false);
        rig.pool.queue.leave(&spot);
        rig.pool.queue.served(started + Duration::from_secs(departure));
    }
    let hopeless = || {
        let terms = Terms { patience: Duration::from_millis(10), ..TERMS };
        rig.pool.queue.enter(&terms, false, u32::MAX, started + Duration::from_secs(20)).is_err()
    };
    let _waits = rig.waits(false);
    assert!(hopeless());
    rig.publish([ONE, Shape { max: 1, ..ONE }]);
    assert!(hopeless());
    rig.publish([ONE, Shape { eligible: false, ..ONE }]);
    assert!(!hopeless());
}
