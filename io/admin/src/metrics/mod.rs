//! The snapshot in Prometheus format: counters, gauges and histograms per process, listener, pool, fleet,
//! server and storage area.
//!
//! Names end in their base unit (seconds, bytes); counters end in `_total`. There are no averages.

mod exposition;
mod family;
mod fleet;
mod listener;
mod pool;
mod process;
mod scope;
mod server;
mod storage;
mod text;
mod transfer;

use weir_control::Snapshot;

pub use exposition::Exposition;
pub use scope::Scope;

use text::Text;

/// Writes the metrics page.
pub fn metrics(snapshot: &Snapshot, exposition: Exposition, scope: Scope) -> String {
    let mut text = Text::new(exposition);
    if scope.process {
        process::write(&mut text, snapshot);
        transfer::write(&mut text, &snapshot.transfers);
    }
    if scope.listener {
        listener::write(&mut text, &snapshot.listeners);
    }
    if scope.pool {
        pool::write(&mut text, &snapshot.pools);
    }
    if scope.fleet && !snapshot.fleets.is_empty() {
        fleet::write(&mut text, &snapshot.fleets);
    }
    if scope.server {
        server::write(&mut text, &snapshot.pools);
    }
    if scope.storage && !snapshot.storage.is_empty() {
        storage::write(&mut text, &snapshot.storage);
    }
    text.finish()
}
