//! The faces of a running Weir: the control socket (JSON lines), and over HTTP metrics, the status page and its data.
//!
//! Carries commands and shows snapshots. What a command means is decided by whoever implements [`Handler`].

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
