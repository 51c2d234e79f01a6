use std::pin::Pin;
use std::time::Duration;

use crate::{Failure, Machine, MachineId, Token};

/// What a provider answers in its own time.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + 'a>>;

/// One machine to be created.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// What it is known by until it has an id. The same token never makes two machines.
    pub token: &'a Token,
    /// This token has been ordered before, by us or by the process that we follow: the machine may be there.
    pub again: bool,
}

/// Where machines come from. An action is done when it is accepted: what has become of it is told by
/// [`machines`](Self::machines).
///
/// Dropping an answer leaves open whether the action happens.
pub trait Provider {
    /// Every machine of this fleet, and no other. A failure is never an empty list.
    fn machines(&self) -> Answer<'_, Vec<Machine>>;

    /// Creates the machine of a token, or finds it.
    fn create<'a>(&'a self, order: Order<'a>) -> Answer<'a, Machine>;

    /// Starts a stopped machine. Done if it runs.
    fn start<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()>;

    /// Stops a machine so that it can be started again. Done if it is stopped.
    fn stop<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()>;

    /// Makes a machine go for good. Done if it is not there.
    fn delete<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()>;

    /// How many more machines could be created now; `None` = no limit is known.
    fn room(&self) -> Answer<'_, Option<u32>>;

    /// Asks whether what is configured can work: credentials, flavor, image, a script that runs.
    fn verify(&self) -> Answer<'_, ()>;

    /// Returns the fields of the latest list that do not follow the contract, and how they were read.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Checks strictly that the provider's answers follow its contract, for `weir check --online`.
    fn proofread(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// What must be done from time to time, about once a second: processes that have died are started again, those that do not
    /// stop are killed.
    fn tend(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// A machine whose creation was cut off may stay out of [`machines`](Self::machines) for so long.
    fn settling(&self) -> Duration {
        Duration::ZERO
    }
}
