use std::net::IpAddr;

use weir_balance::{RequestClass, Watch};
use weir_health::Probe;

use crate::waiting::Spot;

/// A request that is somewhere between its arrival and its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) arrived_ns: u64,
    pub(crate) work_ns: f64,
    pub(crate) class: RequestClass,
    /// How much is transferred, where that is known.
    pub(crate) bytes: Option<u64>,
    pub(crate) client: IpAddr,
    pub(crate) uri: u64,
    /// As its request has it.
    pub(crate) value: u64,
    /// As its request has it.
    pub(crate) priority: u32,
    pub(crate) worker: u32,
    pub(crate) is_measured: bool,
    /// Where it is; `None` while it waits in the balancer.
    pub(crate) at: Option<Try>,
    /// Where it is besides, as the first server has not answered for long.
    pub(crate) second: Option<Try>,
    /// When it was first given to a server.
    pub(crate) sent_ns: u64,
    /// Further tries so far, second ones beside the first not counted.
    pub(crate) retries: u32,
    /// It is being tried again, and counts as that.
    pub(crate) is_retried: bool,
    /// The server that has died with it, if it was tried again since.
    pub(crate) lost_at: Option<u32>,
    /// The server that its client was bound to when it came.
    pub(crate) wanted: Option<u32>,
    /// Where it waits in the balancer.
    pub(crate) spot: Option<Spot>,
    /// An event will tell when it has waited long enough.
    pub(crate) is_timed: bool,
    /// It finds out for the breaker whether the pool works again.
    pub(crate) probe: Option<Probe>,
}

/// A request at one server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Try {
    pub(crate) server: u32,
    /// Measures it there, for algorithms that go by that.
    pub(crate) stay: Stay,
}

impl Flight {
    /// Its try at this server, and the other one, if there is one.
    pub(crate) fn tries(&self, server: u32) -> (Option<Stay>, Option<Try>) {
        match self.second {
            Some(second) if second.server == server => (Some(second.stay), self.at),
            second => (self.at.map(|first| first.stay), second),
        }
    }
}

/// A request at a server, as the balancer sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stay {
    pub(crate) begun_ns: u64,
    pub(crate) class: RequestClass,
    pub(crate) watch: Watch,
}

/// The requests in flight, by number; numbers of ended ones are given again, so that there are as many places as there were
/// requests at the same time.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    places: Vec<Place>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place {
    /// Differs for each request that had the place.
    visit: u32,
    flight: Option<Flight>,
}

/// One request among those in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlightId {
    place: u32,
    visit: u32,
}

impl Flights {
    pub(crate) fn add(&mut self, flight: Flight) -> FlightId {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { visit: 0, flight: None });
            (self.places.len() - 1) as u32
        });
        let there = &mut self.places[place as usize];
        there.visit = there.visit.wrapping_add(1);
        there.flight = Some(flight);
        FlightId { place, visit: there.visit }
    }

    /// `None` if it has ended.
    pub(crate) fn get_mut(&mut self, id: FlightId) -> Option<&mut Flight> {
        let place = self.places.get_mut(id.place as usize)?;
        place.flight.as_mut().filter(|_| place.visit == id.visit)
    }

    pub(crate) fn remove(&mut self, id: FlightId) -> Option<Flight> {
        self.get_mut(id)?;
        self.free.push(id.place);
        self.places[id.place as usize].flight.take()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.places.len()
    }

    /// The most that there were at the same time.
    pub(crate) fn peak(&self) -> u64 {
        self.places.len() as u64
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A request of which nothing matters.
    pub(crate) fn flight() -> Flight {
        Flight {
            arrived_ns: 0,
            work_ns: 1.0,
            class: RequestClass::Dynamic,
            bytes: None,
            client: IpAddr::from([10, 0, 0, 1]),
            uri: 0,
            value: 0,
            priority: 0,
            worker: 0,
            is_measured: true,
            at: None,
            second: None,
            sent_ns: 0,
            retries: 0,
            is_retried: false,
            lost_at: None,
            wanted: None,
            spot: None,
            is_timed: false,
            probe: None,
        }
    }
}
