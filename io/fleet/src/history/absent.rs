//! Substitute for the database in a build without the feature `sqlite`: refuses to open any.

use std::io;
use std::path::Path;

use weir_scale::history::Row;

use crate::storage::named;

/// Reason why this build has no databases; `None` = it has them.
pub(super) const MISSING: Option<&str> = Some(
    "this build of weir has no SQLite: build it with `make release`, or with the Cargo feature `sqlite`",
);

/// A database to which rows are added. This build opens none.
#[derive(Debug)]
pub(super) enum Database {}

impl Database {
    pub(super) fn open(path: &Path, _: u64) -> io::Result<Self> {
        Err(refusal(path))
    }

    pub(super) fn was_converted(&self) -> bool {
        match *self {}
    }

    pub(super) fn add(&mut self, _: &Row) -> io::Result<()> {
        match *self {}
    }
}

pub(super) fn latest(path: &Path, _: usize) -> io::Result<Vec<Row>> {
    Err(refusal(path))
}

pub(super) fn each(path: &Path, _: &mut dyn FnMut(Row)) -> io::Result<()> {
    Err(refusal(path))
}

fn refusal(path: &Path) -> io::Error {
    named(path, &io::Error::new(io::ErrorKind::Unsupported, MISSING.unwrap_or_default()))
}
