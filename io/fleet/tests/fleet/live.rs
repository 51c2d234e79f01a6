//! Tests of the control loop in virtual time, with machines that take time to start and a load balancer that
//! checks them.

mod ages;
mod flavours;
mod listing;
mod placing;
mod slow;
mod trouble;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use weir_fleet::live::{Balancer, Health, Live, Member, Round};
use weir_fleet::{
    Actuator, Answer, Failure, FailureKind, Lease, Machine, MachineId, MachineState, Order, Provider, Steps,
};
use weir_model::ServerName;
use weir_scale::{Now, Observation, Policy, Rules, Sample, Scaler, policy};
use weir_testkit::TempDir;

use crate::tools::run_virtually;

const BOOT_S: u64 = 5;
const CHECKS_S: u64 = 2;

/// A simulated cloud and load balancer, with the events of each second.
#[derive(Default)]
struct World {
    second: u64,
    /// Machines, with the second from which they run.
    machines: BTreeMap<String, (MachineState, u64)>,
    /// Members, with the second from which their health checks pass.
    members: BTreeMap<String, (Member, u64)>,
    requests: u64,
    /// Requests in progress on each server.
    active: u64,
    list_fails: bool,
    /// Duration of a list, and of any other call.
    list_takes_s: u64,
    acts_take_s: u64,
    balancer_fails: bool,
    /// Requests that arrive while the machines are listed.
    meanwhile: u64,
    /// Port that the machines report.
    port: Option<u16>,
    /// True if a server that is to be removed gets a request before the action.
    late: bool,
    /// Machines that the list omits.
    hidden: BTreeSet<String>,
    /// True if the list also omits all new machines.
    hides_new: bool,
    /// Zones of the machines.
    zones: BTreeMap<String, &'static str>,
    /// Times of creation that the provider reports.
    created_s: BTreeMap<String, u64>,
    /// Machines with another flavour than small.
    flavours: BTreeMap<String, &'static str>,
    /// Performance of the servers.
    observed: Vec<(ServerName, Observation)>,
    /// True if new machines fail.
    spoilt: bool,
    /// Number of creations whose answers are lost.
    answers_lost: u32,
    /// True if the provider refuses to stop and delete.
    keeps: bool,
    /// Failure of each start.
    refuses_to_start: Option<FailureKind>,
    /// True if the health checks of new machines never pass.
    sick: bool,
    /// True if started machines stay stopped.
    stays_stopped: bool,
    /// True if deleted machines stay in the list.
    lingers: bool,
    /// Actions on machines and members, in order.
    log: Vec<String>,
}

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<World>>);

impl World {
    fn machine(&self, name: &str) -> Machine {
        let (state, runs_from) = self.machines[name];
        let booting = state == MachineState::Running && self.second < runs_from;
        Machine {
            id: MachineId(name.to_owned()),
            token: None,
            ip: Some(IpAddr::from([10, 0, 0, 1])),
            port: self.port,
            state: if booting { MachineState::Building } else { state },
            flavour: Some(self.flavours.get(name).copied().unwrap_or("small").to_owned()),
            zone: self.zones.get(name).map(|zone| (*zone).to_owned()),
            cost_per_hour: None,
            tags: BTreeMap::new(),
            created_s: self.created_s.get(name).copied(),
            note: (state == MachineState::Failed).then(|| "it is broken".to_owned()),
        }
    }

    fn member(&mut self, server: &ServerName) -> Result<&mut Member, String> {
        let found = self.members.get_mut(server.as_str()).map(|(member, _)| member);
        found.ok_or_else(|| "no such member".to_owned())
    }
}

impl Shared {
    /// Delays a call of the provider.
    async fn act(&self, what: &str) {
        let takes_s = self.0.borrow().acts_take_s;
        if takes_s > 0 {
            self.0.borrow_mut().log.push(format!("asked to {what}"));
        }
        take(takes_s).await;
    }
}

async fn take(seconds: u64) {
    if seconds > 0 {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
}

impl Provider for Shared {
    fn machines(&self) -> Answer<'_, Vec<Machine>> {
        let mut world = self.0.borrow_mut();
        world.requests += world.meanwhile;
        let names = world.machines.keys().filter(|name| !world.hidden.contains(*name));
        let machines = names.map(|name| world.machine(name)).collect();
        let (fails, takes_s) = (world.list_fails, world.list_takes_s);
        Box::pin(async move {
            take(takes_s).await;
            if fails { Err(Failure::new(FailureKind::Transient, "the API is down")) } else { Ok(machines) }
        })
    }

    fn create<'a>(&'a self, order: Order<'a>) -> Answer<'a, Machine> {
        Box::pin(async move {
            self.act("create").await;
            let mut world = self.0.borrow_mut();
            let name = order.token.to_string();
            let from = world.second + BOOT_S;
            let state = if world.spoilt { MachineState::Failed } else { MachineState::Running };
            world.machines.insert(name.clone(), (state, from));
            if world.hides_new {
                world.hidden.insert(name.clone());
            }
            world.log.push("create".to_owned());
            if world.answers_lost > 0 {
                world.answers_lost -= 1;
                return Err(Failure::new(FailureKind::Uncertain, "no answer"));
            }
            Ok(world.machine(&name))
        })
    }

    fn start<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(async move {
            self.act("start").await;
            let mut world = self.0.borrow_mut();
            if let Some(kind) = world.refuses_to_start {
                world.log.push("refused".to_owned());
                return Err(Failure::new(kind, "it is not started"));
            }
            let from = world.second + 1;
            if !world.stays_stopped {
                world.machines.insert(id.to_string(), (MachineState::Running, from));
            }
            world.log.push("start".to_owned());
            Ok(())
        })
    }

    fn stop<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(async move {
            self.act("stop").await;
            let mut world = self.0.borrow_mut();
            if world.keeps {
                world.log.push("refused".to_owned());
                return Err(Failure::new(FailureKind::Conflict, "it is locked"));
            }
            assert!(!world.members.contains_key(id.as_str()), "it still gets requests");
            world.machines.insert(id.to_string(), (MachineState::Stopped, 0));
            world.log.push("stop".to_owned());
            Ok(())
        })
    }

    fn delete<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(async move {
            self.act("delete").await;
            let mut world = self.0.borrow_mut();
            if world.keeps {
                world.log.push("refused".to_owned());
                return Err(Failure::new(FailureKind::Conflict, "it is locked"));
            }
            assert!(!world.members.contains_key(id.as_str()), "it still gets requests");
            if !world.lingers {
                world.machines.remove(id.as_str());
            }
            world.log.push("delete".to_owned());
            Ok(())
        })
    }

    fn room(&self) -> Answer<'_, Option<u32>> {
        Box::pin(async { Ok(None) })
    }

    fn verify(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

impl Balancer for Shared {
    fn sample(&self) -> Sample {
        Sample::of_requests(self.0.borrow().requests)
    }

    fn observations(&self) -> Vec<(ServerName, Observation)> {
        std::mem::take(&mut self.0.borrow_mut().observed)
    }

    fn members(&self) -> Result<Vec<Member>, String> {
        let world = self.0.borrow();
        if world.balancer_fails {
            return Err("the balancer is down".to_owned());
        }
        let members = world.members.values().map(|(member, up_from)| {
            let up = world.second >= *up_from && world.machines.contains_key(member.server.as_str());
            let health = if up { Health::Up(1.0) } else { Health::Down };
            Member { health, active: world.active, ..member.clone() }
        });
        Ok(members.collect())
    }

    fn admit(&self, server: &ServerName, address: SocketAddr) -> Result<(), String> {
        let mut world = self.0.borrow_mut();
        let from = if world.sick { u64::MAX } else { world.second + CHECKS_S };
        let member = Member {
            server: server.clone(),
            address: Some(address),
            health: Health::Unknown,
            draining: false,
            active: 0,
        };
        world.members.insert(server.to_string(), (member, from));
        Ok(())
    }

    fn relocate(&self, server: &ServerName, address: SocketAddr) -> Result<(), String> {
        self.0.borrow_mut().log.push("relocate".to_owned());
        self.0.borrow_mut().member(server)?.address = Some(address);
        Ok(())
    }

    fn drain(&self, server: &ServerName) -> Result<(), String> {
        self.0.borrow_mut().log.push("drain".to_owned());
        self.0.borrow_mut().member(server)?.draining = true;
        Ok(())
    }

    fn recall(&self, server: &ServerName) -> Result<(), String> {
        self.0.borrow_mut().log.push("recall".to_owned());
        self.0.borrow_mut().member(server)?.draining = false;
        Ok(())
    }

    fn remove(&self, server: &ServerName, force: bool) -> Result<(), String> {
        if !force && self.0.borrow().late {
            return Err("it has got something to do".to_owned());
        }
        self.0.borrow_mut().log.push("remove".to_owned());
        self.0
            .borrow_mut()
            .members
            .remove(server.as_str())
            .map(drop)
            .ok_or_else(|| "no such member".to_owned())
    }
}

/// A fleet of two to ten servers with a capacity of ten requests per second each.
struct Play {
    _directory: TempDir,
    live: Live<Shared>,
    world: Shared,
}

impl Play {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Rules)) -> Self {
        let directory = TempDir::new().unwrap();
        let world = Shared::default();
        let quick = policy::Target {
            up_after: Duration::from_secs(2),
            down_after: Duration::from_secs(4),
            ..policy::Target::default()
        };
        let mut rules = Rules { policies: vec![Policy::Target(quick)], ..Rules::by_requests(2, 10, 10.0) };
        rules.standby.keep = 1;
        rules.drain_deadline = Duration::from_secs(20);
        change(&mut rules);
        let lease = Lease::acquire(&directory.path().join("lease")).unwrap();
        let provider = Box::new(world.clone());
        let actuator = Actuator::open("web", directory.path(), lease, provider, Steps::default()).unwrap();
        let live = Live::new(Scaler::new(rules.into()), actuator, world.clone(), Some(8080));
        Self { _directory: directory, live, world }
    }

    /// Simulates seconds with a number of requests in each. Returns the last round.
    async fn seconds(&mut self, seconds: u64, requests: u64) -> Round {
        let mut last = None;
        for _ in 0..seconds {
            let second = {
                let mut world = self.world.0.borrow_mut();
                world.second += 1;
                world.requests += requests;
                world.second
            };
            tokio::time::advance(Duration::from_secs(1)).await;
            last = Some(self.live.round(Now::at(Duration::from_secs(second))).await);
        }
        last.unwrap()
    }

    fn counts(&self) -> (usize, usize, usize) {
        let world = self.world.0.borrow();
        let of = |state| world.machines.values().filter(|(is, _)| *is == state).count();
        (of(MachineState::Running), of(MachineState::Stopped), world.members.len())
    }

    fn ports(&self) -> Vec<u16> {
        let world = self.world.0.borrow();
        world.members.values().filter_map(|(member, _)| Some(member.address?.port())).collect()
    }

    fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.world.0.borrow_mut().log)
    }
}

#[test]
fn servers_follow_demand_up_and_down() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(30, 5).await;
        assert_eq!(play.counts(), (2, 0, 2));
        assert_eq!(play.log(), ["create", "create"]);
        assert!(play.ports().iter().all(|port| *port == 8080));
        play.seconds(60, 55).await;
        let (running, stopped, members) = play.counts();
        assert!(running >= 6 && running == members && stopped == 0, "{:?}", play.counts());
        assert!(play.log().iter().all(|done| done == "create"));

        // One server is kept stopped and the others are deleted. Each was drained before.
        play.seconds(400, 5).await;
        assert_eq!(play.counts(), (2, 1, 2));
        let log = play.log();
        let times = |what: &str| log.iter().filter(|done| *done == what).count();
        assert_eq!(times("drain"), running - 2, "{log:?}");
        assert_eq!(times("remove"), running - 2, "{log:?}");
        assert_eq!((times("stop"), times("delete")), (1, running - 3), "{log:?}");

        // The stopped server is started first.
        play.seconds(60, 25).await;
        assert_eq!(play.log()[0], "start");
    });
}

#[test]
fn a_server_that_works_on_requests_is_drained_until_the_deadline() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 35).await;
        play.log();
        play.world.0.borrow_mut().active = 3;
        let mut waited = 0;
        while !play.log().contains(&"drain".to_owned()) {
            waited += 1;
            assert!(waited < 600, "nothing is drained");
            play.seconds(1, 5).await;
        }
        play.seconds(18, 5).await;
        assert!(!play.log().contains(&"remove".to_owned()));
        let mut troubles = Vec::new();
        for _ in 0..4 {
            troubles.extend(play.seconds(1, 5).await.troubles);
        }
        assert!(troubles.iter().any(|said| said.contains("3 requests are cut off")), "{troubles:?}");
    });
}

#[test]
fn without_a_list_of_machines_nothing_is_changed() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 55).await;
        let before = play.counts();
        play.log();
        play.world.0.borrow_mut().list_fails = true;
        let round = play.seconds(300, 1).await;
        assert!(round.decision.is_none());
        assert!(round.troubles[0].contains("the API is down"), "{:?}", round.troubles);
        assert_eq!((play.counts(), play.log()), (before, Vec::new()));
    });
}

#[test]
fn what_comes_while_a_provider_thinks_belongs_to_the_next_look() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(30, 5).await;
        let before = play.world.0.borrow().requests;
        play.world.0.borrow_mut().meanwhile = 1_000;
        let round = play.seconds(1, 5).await;
        assert_eq!(round.sample.requests, Some(before + 5));
    });
}

#[test]
fn without_word_from_the_balancer_nothing_is_changed() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 55).await;
        let before = play.counts();
        play.log();
        play.world.0.borrow_mut().balancer_fails = true;
        let round = play.seconds(300, 55).await;
        assert!(round.decision.is_none());
        assert_eq!(round.troubles, ["the balancer is down"]);
        assert_eq!((play.counts(), play.log()), (before, Vec::new()));
        play.world.0.borrow_mut().balancer_fails = false;
        play.seconds(2, 55).await;
        assert_eq!(play.counts(), before);
    });
}

#[test]
fn a_server_that_gets_something_to_do_at_the_last_moment_is_not_stopped() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(60, 35).await;
        play.world.0.borrow_mut().late = true;
        play.log();
        play.seconds(120, 5).await;
        let log = play.log();
        assert!(log.contains(&"drain".to_owned()), "{log:?}");
        assert!(!log.contains(&"stop".to_owned()) && !log.contains(&"delete".to_owned()), "{log:?}");
        play.world.0.borrow_mut().late = false;
        play.seconds(30, 5).await;
        assert_eq!(play.counts().0, 2);
    });
}

#[test]
fn a_fleet_that_does_not_act_decides_all_the_same() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(30, 5).await;
        play.log();
        play.live.set_acting(false);
        let round = play.seconds(60, 55).await;
        assert!(round.decision.unwrap().actions.len() == 1);
        assert_eq!(play.log(), Vec::<String>::new());
        play.live.set_acting(true);
        play.seconds(30, 55).await;
        assert!(play.counts().0 >= 6);
    });
}

#[test]
fn servers_that_were_there_before_teach_nothing_about_how_long_a_start_takes() {
    run_virtually(async {
        let mut play = Play::new();
        play.seconds(30, 5).await;
        let taught = play.live.scaler().expected(false);
        assert!(taught < Duration::from_secs(60), "{taught:?}");
        // Another process takes over and knows only what it observes.
        let mut next = Play::new();
        next.world.0.borrow_mut().machines = std::mem::take(&mut play.world.0.borrow_mut().machines);
        next.seconds(10, 5).await;
        assert_eq!(next.live.scaler().expected(false), Duration::from_secs(60));
    });
}
