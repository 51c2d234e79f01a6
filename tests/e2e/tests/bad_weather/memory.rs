//! Memory runs short: connections give way before the kernel ends the process.

use weir_e2e::{Weir, get, web};
use weir_testkit::{PATIENCE, RawClient, RawServer, wait_until};

#[test]
fn a_client_that_fills_the_memory_with_half_heads_loses_its_connections_and_others_are_served() {
    let server = RawServer::answering("hi");
    let config = web(&[server.addr()]);
    let mut weir = Weir::start(&format!(
        "[weir]\nworkers = 1\nmax-memory = \"96MiB\"\n\n{config}\n[listener.web.limits]\nhead = \"1MiB\"\n\n\
         [listener.web.timeouts]\nhead = \"10m\"\n"
    ));
    let of_process = |name: &str| weir.metrics().get(name, &[]);
    assert_eq!(
        (of_process("weir_memory_limit_bytes"), of_process("weir_memory_short")),
        (96.0 * 1_048_576.0, 0.0)
    );
    let head = format!("GET / HTTP/1.1\r\nHost: a\r\nX-Long: {}", "x".repeat(1_000_000));
    let open = |_| {
        let mut client = weir.client();
        // It is reset when it has to give way.
        let _ = client.try_send(&head);
        client
    };
    let hog: Vec<RawClient> = (0..150).map(open).collect();
    wait_until("memory is short", PATIENCE, || of_process("weir_memory_shortages_total") >= 1.0);
    wait_until("there is room again", PATIENCE, || of_process("weir_memory_short") == 0.0);
    assert_eq!(weir.client().exchange(get("/")).status, 200);
    let denied = weir.metrics().get("weir_listener_connections_denied_total", &["listener=\"web\""]);
    assert!(denied >= 1.0, "{denied}");
    weir.wait_for_log("memory is short");
    weir.wait_for_log("memory is no longer short");
    drop(hog);
}
