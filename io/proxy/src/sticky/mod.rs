//! Binds clients to servers: secrets and cookie values, the known servers, the table that all workers share,
//! and the binding of each request. The rules are in `weir_balance` and `weir_http`.

mod bond;
mod seal;
mod secret;
mod state;

pub use bond::request_edit;
pub(crate) use bond::{Bond, Bound, Request};
pub use seal::{Opened, Seal};
pub use secret::read_secret;
pub use state::{Known, StickyState};
pub use weir_net::Secret;
