//! Draws the picture of the README: the live view of a demo. `make picture` runs a demo and draws a new one.

use std::net::SocketAddr;
use std::path::Path;

use serde::Deserialize;
use weir_control::Snapshot;

use super::facts::{BalancerFacts, Facts, Files, ServerFacts};
use super::hints;
use super::server::SERVERS;
use crate::top::picture::svg;

/// Figures of a demo that ran.
#[derive(Deserialize)]
struct Seen {
    directory: String,
    admin: SocketAddr,
    /// Process id of the server that the panel proposes to kill.
    victim_pid: u32,
    /// Snapshots some seconds apart, the oldest first.
    snapshots: Vec<Snapshot>,
}

impl Seen {
    fn facts(&self) -> Facts {
        let last = self.snapshots.last().unwrap();
        let listener = |name: &str| {
            let found = last.listeners.iter().find(|listener| listener.name == name).unwrap();
            found.bind[0].parse::<SocketAddr>().unwrap()
        };
        let server = |spec: super::server::WebServer| {
            let found = last.pools[0].servers.iter().find(|server| server.name == spec.name).unwrap();
            ServerFacts { spec, address: found.address.parse().unwrap(), pid: self.victim_pid }
        };
        Facts {
            balancer: BalancerFacts { site: listener("web"), app: listener("app"), admin: self.admin },
            servers: SERVERS.into_iter().map(server).collect(),
            nodes: Vec::new(),
            files: Files::within(Path::new(&self.directory)),
        }
    }
}

#[test]
fn the_picture_of_the_readme_is_what_the_live_view_draws() {
    let seen: Seen = serde_json::from_str(include_str!("picture.json")).unwrap();
    let panel = hints::panel(&seen.facts(), true);
    let picture = svg(seen.snapshots, panel, 107, 24);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/demo.svg");
    if std::env::var_os("WEIR_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &picture).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    // `assert_eq!` would print both.
    assert!(picture == committed, "docs/demo.svg is another picture: WEIR_UPDATE_DOCS=1 writes this one");
}
