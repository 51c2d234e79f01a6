//! Tests of ten thousand servers whose weights and states change repeatedly.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::json;
use weir_e2e::{Weir, get};
use weir_origin::Origin;
use weir_testkit::threads_cpu_ns;

const SERVERS: u32 = 10_000;
const UPDATES: usize = 16;

/// Returns a config with a pool of that many servers with three weights, all with the origin at this port.
fn config(balance: &str, port: u16) -> String {
    let server = |at: u32| {
        let address = Ipv4Addr::from_bits(0x7f01_0001 + at);
        format!("{{ name = \"s{at}\", address = \"{address}:{port}\", weight = {} }}", 1 + at % 3)
    };
    let servers: Vec<String> = (0..SERVERS).map(server).collect();
    format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nbalance = \"{balance}\"\nservers = [{}]\n",
        servers.join(", ")
    )
}

/// Building a roster of ten thousand servers takes milliseconds, in which its thread serves no requests. If
/// workers built it, they would use about as much CPU time as the control plane, or more.
#[test]
fn what_changes_among_ten_thousand_servers_is_worked_out_by_the_control_plane_and_not_within_requests() {
    let origin = Origin::builder().bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).start().unwrap();
    // One algorithm whose workers share a schedule, each from its own position, and one with a large table.
    for balance in ["least-request", "maglev"] {
        let weir = Weir::start(&config(balance, origin.addr().port()));
        let mut client = weir.client();
        // The worker has done its one-time work.
        assert_eq!(client.exchange(get("/")).status, 200);
        let used = || ["weir", "worker"].map(|name| threads_cpu_ns(weir.pid(), name));
        let before = used();
        for update in 0..UPDATES {
            let server = format!("s{}", 37 * update);
            weir.obey(&match update % 2 {
                0 => json!({"server-weight": {"pool": "web", "server": server, "weight": 7}}),
                _ => json!({"server-state": {"pool": "web", "server": server, "state": "drain"}}),
            });
            // The first request that uses the new roster.
            assert_eq!(client.exchange(get("/")).status, 200, "{balance}, update {update}");
        }
        let after = used();
        let (control, workers) = (after[0] - before[0], after[1] - before[1]);
        assert!(control > 0, "the kernel does not tell what threads use");
        assert!(workers < control / 4, "{balance}: workers {workers} ns, control plane {control} ns");
    }
}
