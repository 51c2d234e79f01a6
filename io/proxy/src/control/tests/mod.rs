//! The control plane as a whole, against real servers on the loopback.

mod certificates;
mod commands;
mod ejection;
mod many;
mod reload;
mod retiring;
mod rig;
mod snapshot;
mod spread;

pub(in crate::control) use rig::{Rig, eventually, plan, whole_plan};
