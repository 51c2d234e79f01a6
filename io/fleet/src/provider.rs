//! The trait of machine providers.

use std::pin::Pin;
use std::time::Duration;

use crate::{Failure, Machine, MachineId, Token};

/// Result of an asynchronous provider call.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + 'a>>;

/// Order to create a machine.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// Token that names the machine until it has an id. A token never creates two machines.
    pub token: &'a Token,
    /// True if this process or its predecessor has ordered the token before, so that the machine may exist.
    pub again: bool,
}

/// Source of machines. A call succeeds when its action is accepted; [`machines`](Self::machines) shows the
/// result.
///
/// If a call is dropped, its action may or may not take effect.
pub trait Provider {
    /// Lists the machines of this fleet, and no others. An error must never appear as an empty list.
    fn machines(&self) -> Answer<'_, Vec<Machine>>;

    /// Creates the machine of a token, or finds it.
    fn create<'a>(&'a self, order: Order<'a>) -> Answer<'a, Machine>;

    /// Starts a stopped machine. Succeeds if it already runs.
    fn start<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()>;

    /// Stops a machine so that it can be started again. Succeeds if it is already stopped.
    fn stop<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()>;

    /// Deletes a machine. Succeeds if it does not exist.
    fn delete<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()>;

    /// Returns the number of further machines that could be created now; `None` = no known limit.
    fn room(&self) -> Answer<'_, Option<u32>>;

    /// Checks that the config can work: credentials, flavor, image, an executable script.
    fn verify(&self) -> Answer<'_, ()>;

    /// Returns the fields of the latest list that violate the contract, with their interpretation.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Checks strictly that the provider's answers follow its contract, for `weir check --online`.
    fn proofread(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Does periodic work, about once a second: restarts processes that have ended, and kills those that do
    /// not stop.
    fn tend(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Returns the time for which a machine may be missing from [`machines`](Self::machines) after its
    /// creation was aborted.
    fn settling(&self) -> Duration {
        Duration::ZERO
    }
}
