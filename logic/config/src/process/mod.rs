//! Settings of the whole process: `[weir]`, `[admin]`, `[access-log]`, `[resolver]` and
//! `[error-page.STATUS]`.

pub(crate) mod diff;
pub(crate) mod error_page;
pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod print;
pub(crate) mod read;
