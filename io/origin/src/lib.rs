//! The test web server that the demo, the lab and tests use behind the balancer.
//!
//! An HTTP/1.1 server with keep-alive. Its routes echo, delay, stream, count and fail on request, and it can
//! be as slow as a real server. It uses hyper's framing, so that Weir's own codec is tested against a server
//! that does not share its mistakes. It serves no files and is not fit for the open internet.
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
