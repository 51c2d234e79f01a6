/// Most locks that are kept, so that one client cannot fill the table for all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockLimits {
    /// Of all principals together.
    pub table_max: usize,
    /// Of one principal.
    pub principal_max: usize,
}
