//! Records the keys that the parser reads in this thread, so that a test can prove that it ignores no key.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::schema::Section;

thread_local! {
    static READ: RefCell<BTreeSet<(&'static str, String)>> = const { RefCell::new(BTreeSet::new()) };
}

pub(crate) fn note(section: &'static Section, key: &str) {
    READ.with(|read| read.borrow_mut().insert((section.title, key.to_owned())));
}

pub(crate) fn all() -> BTreeSet<(&'static str, String)> {
    READ.with(|read| read.borrow().clone())
}
