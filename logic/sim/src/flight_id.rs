//! Identifiers of requests in flight.

/// Identifier of a request in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlightId {
    pub(crate) place: u32,
    pub(crate) visit: u32,
}
