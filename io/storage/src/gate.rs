use crate::{Moving, StorageError};

/// What stands between a change that was made ready and its becoming visible. It is called once all that takes long is done, with
/// the step that others see, which is short; it does the step, at a time at which it may be done, or returns an error, and
/// then nothing has changed. Of a change that needs more than one such step, it is called for each.
pub type Gate<'a> = dyn FnMut(&mut Step<'_>) -> Result<(), StorageError> + 'a;

/// The same before the steps of a move. To another file system, where a copy of the source gets its name, it is told what that is a
/// copy of: at the source's path there is nothing by then, or something else.
pub type MoveGate<'a> = dyn FnMut(&mut Step<'_>, Option<&Moving<'_>>) -> Result<(), StorageError> + 'a;

/// The step.
pub type Step<'a> = dyn FnMut() -> Result<(), StorageError> + 'a;

/// Does a step through a gate, and returns what it has made.
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
