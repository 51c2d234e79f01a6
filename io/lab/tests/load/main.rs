//! Tests of loads against real servers. They check sent, counted and judged requests, and never the speed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod closed;
mod http2;
mod open;
mod requests;
mod sabotage;
mod server;
mod sessions;
mod tls;
mod uploads;

use std::net::SocketAddr;
use std::time::Duration;

use weir_config::plan::{TlsOut, TlsVersion};
use weir_lab::{Arrivals, Expected, FlawKind, Load, Mode, Phases, Run, Running, TargetSpec};

fn target(method: &str, url: impl Into<String>) -> TargetSpec {
    TargetSpec { method: method.to_owned(), url: url.into(), ..TargetSpec::default() }
}

/// Returns a load of GET requests for `path`.
fn load(address: SocketAddr, path: &str, mode: Mode) -> Load {
    Load {
        targets: vec![target("GET", format!("http://{address}{path}"))],
        mode,
        log: Vec::new(),
        requests_max: None,
        duration: None,
        seed: 1,
        streams: None,
        keep_alive: true,
        connections_max: 1_000,
        threads: 1,
        ahead: false,
        timeout: Duration::from_secs(20),
        sources: Vec::new(),
        tls: TlsOut {
            verify: true,
            ca: None,
            server_name: None,
            client_certificate: None,
            version_min: TlsVersion::V1_2,
        },
        verify: None,
        server_header: String::new(),
        follow: Vec::new(),
        expected: Expected::default(),
        output: None,
    }
}

fn rate(text: &str) -> Mode {
    Mode::Open { phases: phases(text), arrivals: Arrivals::Even }
}

fn phases(text: &str) -> Phases {
    Phases::parse(text, Duration::from_secs(1), None).unwrap()
}

fn closed(connections: usize) -> Mode {
    Mode::Closed { connections, pause_s: 0.0 }
}

fn run(load: Load) -> Run {
    Running::start(load).unwrap().finish().unwrap()
}

fn kinds(run: &Run) -> Vec<FlawKind> {
    run.flaws().iter().map(|flaw| flaw.kind).collect()
}
