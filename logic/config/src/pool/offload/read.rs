//! Reads `[pool.NAME.offload]`.

use weir_model::Name;

use super::keys::LOCATION;
use super::plan::{LocationFiles, LocationPlan, OffloadPlan};
use crate::common::paths::path;
use crate::storage::read::symlinks;
use crate::syntax::source::Located;
use crate::syntax::tree::{Node, short};
use crate::values::subject::Subject;
use crate::values::table::Table;

/// A storage area that a pool refers to: the subject for messages, and the name with its position.
pub(crate) type AreaReference = (Subject, Located<String>);

/// Reads `[pool.NAME.offload]`. Also returns the storage areas that it refers to.
pub(crate) fn read(pool: &Table<'_, '_>) -> (Option<OffloadPlan>, Vec<AreaReference>) {
    let Some(table) = pool.table_if("offload") else { return (None, Vec::new()) };
    let mut areas = Vec::new();
    let mut locations: Vec<LocationPlan> = Vec::new();
    for (index, node) in table.many("location").iter().enumerate() {
        let subject = table.subject.named("location", &(index + 1).to_string());
        let here = Table::new(table.cx, subject, &LOCATION, node);
        let Some(location) = location(&here, node, &mut areas) else { continue };
        if locations.iter().any(|other| same(&other.prefix, &location.prefix)) {
            let span = here.get("prefix").map_or(here.span(), |node| node.span);
            here.error("prefix", span, format!("another location has {:?}", short(&location.prefix)));
        }
        locations.push(location);
    }
    if let (Some(node), []) = (table.get("location"), table.many("location")) {
        table.error("location", node.span, "expected at least one location");
    }
    let uploads = table.flag("uploads");
    let has_area = locations.iter().any(|location| matches!(location.files, LocationFiles::Area(_)));
    if let (Some(node), true, false) = (table.get("uploads"), uploads, has_area || table.cx.is_incomplete()) {
        table.error("uploads", node.span, "no location is a storage area, where they could be stored");
    }
    (Some(OffloadPlan { locations, x_sendfile: table.flag("x-sendfile"), uploads }), areas)
}

fn location(table: &Table<'_, '_>, node: &Node, areas: &mut Vec<AreaReference>) -> Option<LocationPlan> {
    let prefix = table.text_if("prefix")?;
    if let Err(cause) = weir_access::AccessPath::from_plain(&prefix.value) {
        table.error("prefix", prefix.span, format!("{:?}: {cause}", short(&prefix.value)));
    }
    let (root, area) = (table.get("root"), table.text_if("storage-area"));
    let files = match (root, area) {
        (Some(node), None) => {
            let root = path(table, "root");
            if !root.is_absolute() {
                let written = root.to_string_lossy();
                table.error("root", node.span, format!("{:?} does not begin with a /", short(&written)));
            }
            LocationFiles::Root { root, symlinks: symlinks(table) }
        }
        (None, Some(area)) => {
            if let Some(node) = table.get("symlinks") {
                table.error("symlinks", node.span, "the storage area says which links are followed");
            }
            let name = Name::new(&area.value).ok();
            areas.push((table.subject.clone(), area));
            LocationFiles::Area(name?)
        }
        (Some(node), Some(_)) => {
            table.error("root", node.span, "not together with storage-area");
            return None;
        }
        (None, None) => {
            if !table.cx.is_incomplete() {
                let message = format!("{}: root or storage-area is missing", table.subject);
                table.cx.error(node.span, message);
            }
            return None;
        }
    };
    Some(LocationPlan { prefix: prefix.value, files, percent_encoded: table.flag("percent-encoded") })
}

/// Returns true if two prefixes cover the same paths.
fn same(one: &str, other: &str) -> bool {
    let names =
        |text: &str| text.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    names(one) == names(other)
}
