//! Limits of the lock table.

/// Limits on the number of locks, so that one client cannot fill the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockLimits {
    /// Maximum of locks in the table.
    pub table_max: usize,
    /// Maximum of locks of one principal.
    pub principal_max: usize,
}
