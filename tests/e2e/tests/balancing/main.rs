//! Tests of load balancing: algorithms, weights, backups, limits, checks, ejection, drain.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backups;
mod choice;
mod found_weights;
mod half_open;
mod health;
mod keys;
mod limits;
mod locality;
mod many;
mod measured;
mod operator;
mod spread;

use weir_e2e::{Weir, get};
use weir_origin::{Origin, OriginHandle};

/// Starts a test web server with this name.
fn origin(name: &str) -> OriginHandle {
    Origin::builder().name(name).start().unwrap()
}

/// Sends a request over its own connection and returns the server that responds; `None` for a status other
/// than 200.
fn who(weir: &Weir) -> Option<String> {
    let response = weir.client().exchange(get("/"));
    (response.status == 200).then(|| response.header("x-origin").unwrap().to_owned())
}

/// Returns a config with a listener `web` and a pool `web` of these servers, each with further keys.
fn pool(servers: &[(&OriginHandle, &str)], keys: &str) -> String {
    let servers: Vec<String> = servers
        .iter()
        .map(|(origin, more)| {
            format!("{{ name = \"{}\", address = \"{}\"{more} }}", origin.name(), origin.addr())
        })
        .collect();
    format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = [{}]\n{keys}\n",
        servers.join(", ")
    )
}
