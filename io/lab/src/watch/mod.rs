//! Monitors: what machines, processes, disks and networks do while something is measured.
//!
//! A [`Source`] reads figures of the kernel; [`Watch`] reads all of them at one moment, and says what follows from how they have
//! changed.

mod cgroups;
mod cpu_time;
mod csv;
mod disks;
mod energy;
mod host;
mod moment;
mod network;
mod processes;
mod prometheus;
mod screen;
mod source;
mod table;
mod ticks;

pub use cgroups::Cgroups;
pub use csv::{CsvError, CsvFiles, Figures};
pub use disks::Disks;
pub use energy::Energy;
pub use host::{Host, Processors};
pub use moment::{Moment, Reading, Watch};
pub use network::{Interfaces, Tcp};
pub use processes::{Processes, Which};
pub use prometheus::{CONTENT_TYPE, exposition};
pub use screen::table;
pub use source::{Derived, Source, WatchError};
pub use table::{Change, Column, Kind, Row};
