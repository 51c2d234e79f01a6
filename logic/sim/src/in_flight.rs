//! The requests in flight of a simulation.

use std::net::IpAddr;

use weir_balance::{RequestClass, Watch};
use weir_health::Probe;

use crate::flight_id::FlightId;
use crate::waiting::Spot;

/// A request between its arrival and its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) arrived_ns: u64,
    pub(crate) work_ns: f64,
    pub(crate) class: RequestClass,
    /// Number of transferred bytes, if known.
    pub(crate) bytes: Option<u64>,
    pub(crate) client: IpAddr,
    pub(crate) uri: u64,
    /// Hash of a further value, copied from the request.
    pub(crate) value: u64,
    /// Priority, copied from the request.
    pub(crate) priority: u32,
    pub(crate) worker: u32,
    pub(crate) is_measured: bool,
    /// Current try; `None` while the request waits in the balancer.
    pub(crate) at: Option<Try>,
    /// Second try, started because the first server did not answer for long.
    pub(crate) second: Option<Try>,
    /// Time at which it was first sent to a server.
    pub(crate) sent_ns: u64,
    /// Number of retries so far, without second tries in parallel to the first.
    pub(crate) retries: u32,
    /// True while it is being retried and counts as a retry.
    pub(crate) is_retried: bool,
    /// Server that died with it, if it was retried since.
    pub(crate) lost_at: Option<u32>,
    /// Server that its client was bound to when it arrived.
    pub(crate) wanted: Option<u32>,
    /// Place in a queue of the balancer.
    pub(crate) spot: Option<Spot>,
    /// True if an event for the end of its waiting time is scheduled.
    pub(crate) is_timed: bool,
    /// Set if it is a probe by which the breaker finds out whether the pool works again.
    pub(crate) probe: Option<Probe>,
}

/// A request at one server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Try {
    pub(crate) server: u32,
    /// Measurement of the request there, for algorithms that use it.
    pub(crate) stay: Stay,
}

impl Flight {
    /// Returns the measurement of its try at this server, and its other try, if there is one.
    pub(crate) fn tries(&self, server: u32) -> (Option<Stay>, Option<Try>) {
        match self.second {
            Some(second) if second.server == server => (Some(second.stay), self.at),
            second => (self.at.map(|first| first.stay), second),
        }
    }
}

/// Measurement of a request at a server, from the balancer's side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stay {
    pub(crate) begun_ns: u64,
    pub(crate) class: RequestClass,
    pub(crate) watch: Watch,
}

/// Requests in flight by number. Numbers of ended requests are reused, so there are only as many places as
/// there were requests at the same time.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    places: Vec<Place>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place {
    /// Number that differs for each request that has had the place.
    visit: u32,
    flight: Option<Flight>,
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

    /// Returns the request; `None` if it has ended.
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

    /// Returns the largest number of requests at the same time.
    pub(crate) fn peak(&self) -> u64 {
        self.places.len() as u64
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Creates a request with arbitrary values.
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
