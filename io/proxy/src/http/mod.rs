//! HTTP/1 between a client and the servers of a pool.

mod answer;
mod begin;
mod connection;
mod exchange;
mod finish;
mod outcome;
mod request;
mod response;
mod timing;
mod upgrade;

pub(crate) use answer::Answer;
pub(crate) use connection::{ClientTlsFacts, Connection, serve};
pub(crate) use exchange::{Exchange, Hedged};
pub(crate) use outcome::Fault;
pub(crate) use request::RequestCopy;
pub(crate) use timing::Timing;
