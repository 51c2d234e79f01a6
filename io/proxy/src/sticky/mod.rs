//! Stickiness as io has it: secrets and cookie values, which servers there are, the table that all workers share, and
//! one request's bond with its server. What is decided is decided in `weir_balance` and `weir_http`.

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
