//! HTTP/1 between a client and the servers of a pool, or a service of this process.

mod answer;
mod answered;
mod begin;
mod closing;
mod connection;
mod exchange;
mod finish;
mod outcome;
mod question;
mod request;
mod request_id;
mod response;
mod service;
mod timing;
mod unwanted;
mod upgrade;

pub(crate) use answer::{Answer, Unread};
pub(crate) use answered::AnsweredRequest;
pub(crate) use connection::{ClientTlsFacts, Connection, serve};
pub(crate) use exchange::{Exchange, Hedged, Offloaded, Place};
pub(crate) use outcome::Fault;
pub(crate) use request::{RequestCopy, RequestFacts};
pub(crate) use timing::Timing;
