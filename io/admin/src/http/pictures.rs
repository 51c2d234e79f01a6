//! Pictures of fleets over time for the status page, from the latest rows of each fleet.

use weir_control::{Answer, Command, NameFilter, Reply, Snapshot};
use weir_model::Name;
use weir_scale::history::Row;
use weir_scale::plot;

use crate::page::is_selected;
use crate::{Handler, Pictures};

/// Half an hour of samples, one per second.
const ROWS_MAX: u32 = 1_800;
/// Maximum number of fleets with a picture; a page with hundreds of pictures is useless.
const FLEETS_MAX: usize = 10;
/// Namespace that SVG needs in a file, but not within a page.
const NAMESPACE: &str = " xmlns=\"http://www.w3.org/2000/svg\"";

/// Returns the names of the selected fleets with the lines of their histories.
pub(super) async fn histories(
    snapshot: &Snapshot,
    names: &NameFilter,
    handler: &dyn Handler,
) -> Vec<(String, Vec<String>)> {
    let mut histories = Vec::new();
    let fleets = snapshot.fleets.iter().filter(|fleet| is_selected(names, fleet));
    for fleet in fleets.take(FLEETS_MAX) {
        let Ok(name) = Name::new(&fleet.name) else { continue };
        let reply = handler.handle(Command::FleetHistory { fleet: name, rows: ROWS_MAX }).await;
        let Reply::Ok(Answer::FleetHistory { rows }) = reply else { continue };
        histories.push((fleet.name.clone(), rows));
    }
    histories
}

/// Draws the pictures. Checks and commands must not wait that long, so it runs on another thread.
pub(super) fn draw(histories: &[(String, Vec<String>)]) -> Pictures {
    let mut pictures = Pictures::new();
    for (fleet, rows) in histories {
        let rows: Vec<Row> = rows.iter().filter_map(|line| Row::parse(line)).collect();
        // A line needs two points.
        if rows.len() > 1 {
            let picture = plot::svg(&format!("fleet {fleet}"), &rows);
            pictures.insert(fleet.clone(), picture.replacen(NAMESPACE, "", 1));
        }
    }
    pictures
}
