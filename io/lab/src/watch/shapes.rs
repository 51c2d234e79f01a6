//! Columns of every source by name, for readers of stored figures.

use super::source::Derived;
use super::table::Column;
use super::{cgroups, disks, energy, host, network, processes};

/// Columns and derived figures of a source.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Name of the source.
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column],
    pub(super) derived: &'static [Derived],
}

/// Shapes in the order of display.
pub(super) const SHAPES: [Shape; 8] = [
    Shape { name: "processes", columns: processes::COLUMNS, derived: processes::DERIVED },
    Shape { name: "cgroups", columns: cgroups::COLUMNS, derived: cgroups::DERIVED },
    Shape { name: "host", columns: host::COLUMNS, derived: host::DERIVED },
    Shape { name: "processors", columns: host::PROCESSOR_COLUMNS, derived: &host::CPU_DERIVED },
    Shape { name: "network", columns: network::INTERFACE_COLUMNS, derived: network::INTERFACE_DERIVED },
    Shape { name: "tcp", columns: network::TCP_COLUMNS, derived: network::TCP_DERIVED },
    Shape { name: "disks", columns: disks::COLUMNS, derived: disks::DERIVED },
    Shape { name: "energy", columns: energy::COLUMNS, derived: energy::DERIVED },
];

/// Returns the static name of a figure of any source.
pub(crate) fn figure_name(name: &str) -> Option<&'static str> {
    let names = |shape: &Shape| {
        let columns = shape.columns.iter().map(|column| column.name);
        columns.chain(shape.derived.iter().map(|it| it.name)).find(|known| *known == name)
    };
    SHAPES.iter().find_map(names)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::source::Source;
    use super::super::{Disks, Energy, Host, Interfaces, Processes, Processors, Tcp, Which};
    use super::*;

    #[test]
    fn sources_are_known_by_the_names_that_they_give_themselves() {
        let sources: [Box<dyn Source>; 7] = [
            Box::new(Processes::new(vec![Which::Pid(std::process::id())])),
            Box::new(Host::new().unwrap()),
            Box::new(Processors::new().unwrap()),
            Box::new(Interfaces::new(Vec::new()).unwrap()),
            Box::new(Tcp::new().unwrap()),
            Box::new(Disks::new(Vec::new()).unwrap()),
            Box::new(Energy::new().unwrap()),
        ];
        for source in sources {
            let shape = SHAPES.iter().find(|shape| shape.name == source.name()).unwrap();
            // A newer kernel may have more columns.
            assert!(source.columns().starts_with(shape.columns));
            let names = |derived: &[Derived]| derived.iter().map(|it| it.name).collect::<Vec<_>>();
            assert_eq!(names(shape.derived), names(source.derived()));
        }
    }

    #[test]
    fn each_figure_of_a_source_has_a_name_of_its_own() {
        for shape in SHAPES {
            let own = ["watch", "time", "elapsed_s", "subject", "incarnation", "wraps_at"];
            let columns = shape.columns.iter().map(|column| column.name);
            let all = own.into_iter().chain(columns).chain(shape.derived.iter().map(|it| it.name));
            let mut seen = HashSet::new();
            all.for_each(|name| assert!(seen.insert(name), "{}: {name} twice", shape.name));
        }
    }
}
