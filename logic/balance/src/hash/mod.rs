//! Keys to servers: tables that few keys leave when a server comes or goes.

mod avalanche;
mod maglev;
mod ring;

pub(crate) use avalanche::avalanche;
pub(crate) use maglev::Maglev;
pub(crate) use ring::Ring;
