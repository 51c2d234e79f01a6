//! Compares and orders lists whose entries have names.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;

use weir_model::Name;

/// Differences between an old and a new list.
pub(crate) struct Named<'p, T> {
    pub(crate) removed: Vec<&'p Name>,
    /// Old and new entry of each name that is in both lists, in the old order.
    pub(crate) kept: Vec<(&'p T, &'p T)>,
    /// Entries that are only in the new list, in the new order.
    pub(crate) added: Vec<&'p T>,
    /// The new order, if it differs from the old order with the added entries at the end.
    pub(crate) order: Option<Vec<Name>>,
}

impl<'p, T> Named<'p, T> {
    pub(crate) fn new(old: &'p [T], new: &'p [T], name: fn(&T) -> &Name) -> Self {
        let after: HashMap<&Name, &T> = new.iter().map(|entry| (name(entry), entry)).collect();
        let before: HashSet<&Name> = old.iter().map(name).collect();
        let is_added = |entry: &&T| !before.contains(name(entry));
        let kept: Vec<_> = old.iter().filter_map(|entry| Some((entry, *after.get(name(entry))?))).collect();
        let added: Vec<_> = new.iter().filter(is_added).collect();
        let by_itself = kept.iter().map(|(entry, _)| *entry).chain(added.iter().copied()).map(name);
        let order = (!by_itself.eq(new.iter().map(name))).then(|| new.iter().map(name).cloned().collect());
        let removed = old.iter().map(name).filter(|name| !after.contains_key(name)).collect();
        Self { removed, kept, added, order }
    }
}

/// Sorts entries by the order of their names. Entries that `order` does not name come last.
pub(crate) fn reorder<T>(entries: &mut [T], order: &[Name], name: fn(&T) -> &Name) {
    let places: HashMap<&Name, usize> = order.iter().enumerate().map(|(place, name)| (name, place)).collect();
    entries.sort_by_key(|entry| places.get(name(entry)).copied().unwrap_or(usize::MAX));
}

/// Returns the parts that differ.
pub(crate) fn parts<P, const N: usize>(differences: [(bool, P); N]) -> Vec<P> {
    differences.into_iter().filter_map(|(differs, part)| differs.then_some(part)).collect()
}

pub(crate) fn join(parts: &[impl Display]) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
