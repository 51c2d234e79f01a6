//! Tests which requests wait for a server, in which order they are served, and which are refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bound;
mod breaker;
mod collecting;
mod concurrency;
mod gate;
mod hedge;
mod order;
mod refusal;
mod retries;
mod turnover;

use std::fmt::Display;

use weir_e2e::{Weir, get};
use weir_testkit::RawClient;

use gate::{Gate, queue_length, wait_for_queue};

/// Returns a config with a pool `web` of one server that takes one request at a time.
fn one_at_a_time(server: impl Display, keys: &str) -> String {
    format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\n\
         servers = {{ name = \"only\", address = \"{server}\", max-connections = 1 }}\n\
         timeouts = {{ queue = \"20s\", response = \"60s\" }}\n{keys}\n"
    )
}

/// Clients that wait behind one whose request is at the server.
struct Waiting<'a> {
    weir: &'a Weir,
    clients: Vec<RawClient>,
}

impl<'a> Waiting<'a> {
    /// Sends a request that keeps the server busy.
    fn behind(weir: &'a Weir, gate: &Gate) -> Self {
        let mut first = weir.client();
        first.send(get("/first"));
        gate.wait_for(1);
        Self { weir, clients: vec![first] }
    }

    /// Sends a request, and waits until it is in the queue.
    fn add(&mut self, client: RawClient, request: &str) {
        let before = queue_length(self.weir) as usize;
        self.clients.push(client);
        self.clients.last_mut().unwrap().send(request);
        wait_for_queue(self.weir, before + 1);
    }

    fn get(&mut self, target: &str) {
        self.add(self.weir.client(), &get(target));
    }

    /// Lets the server answer all of them.
    fn finish(self, gate: &Gate) {
        gate.open(self.clients.len());
        for mut client in self.clients {
            assert_eq!(client.response().status, 200);
        }
    }
}
