//! Tests of the whole control plane against real servers on the loopback interface.

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
