//! Admin interfaces of a running Weir: the control socket (JSON lines), and over HTTP the metrics, the status
//! page and its data.
//!
//! This crate transports commands and shows snapshots. The implementation of [`Handler`] decides the meaning
//! of a command.

mod csv;
mod handler;
mod http;
mod metrics;
mod page;
mod socket;

pub use csv::stat_csv;
pub use handler::{Handler, Replying};
pub use http::{AdminHttp, Door, LoggingIn, Login, LoginOutcome, TextHttp};
pub use metrics::{Exposition, Scope, metrics};
pub use page::{Pictures, Selection, status_page};
pub use socket::{BindError, ClientError, ControlClient, ControlSocket};
