//! Gates: callbacks that decide when a change may become visible.

use crate::{Moving, StorageError};

/// A callback between the preparation of a change and its visible step. It is called when all slow work is
/// done. It runs the step, which is short, at a moment when the change is permitted. If it returns an error
/// instead, nothing has changed. A change that needs more than one visible step calls it for each.
pub type Gate<'a> = dyn FnMut(&mut Step<'_>) -> Result<(), StorageError> + 'a;

/// A gate for the steps of a move. In a move to another file system it also gets the source of the copy,
/// because the source's path leads to nothing or to something else by then.
pub type MoveGate<'a> = dyn FnMut(&mut Step<'_>, Option<&Moving<'_>>) -> Result<(), StorageError> + 'a;

/// A visible step.
pub type Step<'a> = dyn FnMut() -> Result<(), StorageError> + 'a;

/// Runs a step through a gate and returns the step's result.
pub(crate) fn pass<T>(
    gate: &mut Gate<'_>,
    mut step: impl FnMut() -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    let mut made = None;
    gate(&mut || {
        made = Some(step()?);
        Ok(())
    })?;
    made.ok_or(StorageError::Cancelled)
}
