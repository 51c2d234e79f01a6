//! Monitors for machines, processes, disks and networks during a measurement.
//!
//! A [`Source`] reads figures of the kernel. [`Watch`] reads all sources at one moment, and computes derived
//! figures from the changes. A [`History`] keeps the data of plots.

mod cgroups;
mod cpu_time;
mod csv;
mod disks;
mod energy;
mod history;
mod host;
mod members;
mod moment;
mod network;
mod pace;
mod process_files;
mod processes;
mod prometheus;
mod screen;
mod shapes;
mod source;
mod sqlite;
mod stored;
mod svg;
mod switches;
mod table;
mod ticks;

pub use cgroups::Cgroups;
pub use csv::{CsvError, CsvFiles, Figures};
pub use disks::Disks;
pub use energy::Energy;
pub use history::History;
pub use host::{Host, Processors};
pub use moment::{Moment, Reading, Watch};
pub use network::{Interfaces, Tcp};
pub use processes::{Processes, Which};
pub use prometheus::{CONTENT_TYPE, exposition};
pub use screen::table;
pub(crate) use shapes::figure_name;
pub use source::{Derived, Source, WatchError};
pub use sqlite::{SqliteError, SqliteFile};
pub use stored::stored;
pub use svg::{PlotError, write_plots};
pub use table::{Change, Column, Kind, Row};
