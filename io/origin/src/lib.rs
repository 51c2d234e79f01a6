//! The test web server: what demo, lab and tests balance.
//!
//! An HTTP/1.1 server with keep-alive whose routes echo, delay, stream, count and fail on request, and which can be
//! made as slow as a real one. Its framing is hyper's, on purpose: Weir's own codec is tested against a server that
//! does not share its mistakes. It serves no files, and nothing here is fit for the open internet.
//!
//! ```no_run
//! let origin = weir_origin::Origin::builder().name("a").start()?;
//! println!("http://{}/", origin.addr());
//! origin.stop();
//! # Ok::<(), weir_origin::StartError>(())
//! ```

mod body;
mod builder;
mod connection;
mod digest;
mod handle;
mod query;
mod routes;
mod serve;
mod service_time;
mod state;
mod websocket;

pub use builder::{Origin, OriginBuilder, StartError};
pub use handle::OriginHandle;
pub use service_time::{ServiceTime, Spread};
