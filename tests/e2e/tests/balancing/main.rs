//! Who gets which request: algorithms, weights, backups, limits, checks, ejection, drain.

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

/// A running test web server of that name.
fn origin(name: &str) -> OriginHandle {
    Origin::builder().name(name).start().unwrap()
}

/// Which server answers the next request over a connection of its own; `None` if it was not answered 200.
fn who(weir: &Weir) -> Option<String> {
    let response = weir.client().exchange(get("/"));
    (response.status == 200).then(|| response.header("x-origin").unwrap().to_owned())
}

/// A pool table `web` behind a listener `web`, with servers `name` at the origins' addresses and these further keys each.
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
