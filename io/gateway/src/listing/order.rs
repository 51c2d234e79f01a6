//! Sort order of a directory listing.

use std::cmp::Ordering;

use weir_storage::Entry;

/// Sort order of a page. Directories always come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) by: Column,
    pub(super) descending: bool,
}

/// The column to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Name,
    Size,
    Time,
}

impl Column {
    pub(super) const ALL: [Self; 3] = [Self::Name, Self::Size, Self::Time];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Size => "size",
            Self::Time => "time",
        }
    }
}

impl Order {
    /// Parses a query such as `sort=size&order=desc`. Ignores unknown values.
    pub(super) fn of(query: &[u8]) -> Self {
        let value = |key: &[u8]| {
            let pairs = query.split(|byte| *byte == b'&');
            pairs.filter_map(|pair| pair.strip_prefix(key)?.strip_prefix(b"=")).next()
        };
        let column = |name: &[u8]| Column::ALL.into_iter().find(|column| column.name().as_bytes() == name);
        Self {
            by: value(b"sort").and_then(column).unwrap_or(Column::Name),
            descending: value(b"order") == Some(b"desc"),
        }
    }

    pub(super) fn sort(self, entries: &mut [Entry]) {
        entries.sort_by(|a, b| {
            let kinds = b.metadata.is_directory().cmp(&a.metadata.is_directory());
            kinds.then_with(|| if self.descending { self.compare(b, a) } else { self.compare(a, b) })
        });
    }

    fn compare(self, a: &Entry, b: &Entry) -> Ordering {
        let by_column = match self.by {
            Column::Name => Ordering::Equal,
            Column::Size => a.metadata.size.cmp(&b.metadata.size),
            Column::Time => a.metadata.modified.cmp(&b.metadata.modified),
        };
        by_column.then_with(|| a.name.cmp(&b.name))
    }

    /// Returns the query of the link that sorts by this column. For the current sort column, the link
    /// reverses the order.
    pub(super) fn link(self, by: Column) -> String {
        let descending = self.by == by && !self.descending;
        format!("?sort={}&amp;order={}", by.name(), if descending { "desc" } else { "asc" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_says_the_order_and_nonsense_says_nothing() {
        let by_size = Order { by: Column::Size, descending: true };
        assert_eq!(Order::of(b"a=b&sort=size&order=desc"), by_size);
        assert_eq!(Order::of(b"sort=colour&order=up"), Order { by: Column::Name, descending: false });
        assert_eq!(by_size.link(Column::Size), "?sort=size&amp;order=asc");
        assert_eq!(by_size.link(Column::Time), "?sort=time&amp;order=asc");
    }
}
