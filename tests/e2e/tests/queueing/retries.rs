//! Tests the limit of concurrent retries.

use std::sync::{Arc, Barrier};

use weir_e2e::{Weir, get};
use weir_testkit::RawServer;

use crate::Gate;

#[test]
fn no_more_requests_are_tried_again_at_once_than_may_be() {
    // Resets both connections once both requests have arrived.
    let both = Arc::new(Barrier::new(2));
    let breaking = RawServer::start(move |peer| {
        peer.request()?;
        both.wait();
        peer.reset();
        Ok(())
    });
    let gate = Gate::new();
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nbalance = \"first\"\n\
         servers = [\"{}\", \"{}\"]\neject = false\n\
         retry = {{ at-once = \"1%\", min-at-once = 1, min-per-second = 1000 }}\n",
        breaking.addr(),
        gate.addr()
    ));
    let mut clients = [weir.client(), weir.client()];
    clients.iter_mut().for_each(|client| {
        client.send(get("/"));
    });
    // The permitted retry is at the other server and stays there. So this response belongs to the request
    // without a retry.
    gate.wait_for(1);
    weir_testkit::wait_until("one is refused", weir_testkit::PATIENCE, || {
        weir.metrics().get("weir_pool_retries_denied_total", &["pool=\"web\""]) == 1.0
    });
    gate.open(1);
    let mut statuses = clients.each_mut().map(|client| client.response().status);
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 502]);
    assert_eq!(gate.came().len(), 1);
}
