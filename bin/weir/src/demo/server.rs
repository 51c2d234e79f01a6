//! Defines the web servers of the demo and their speeds.

use std::net::SocketAddr;

/// Web server with a limited number of parallel requests and a fixed service time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WebServer {
    pub(super) name: &'static str,
    pub(super) service_ms: u32,
    /// Requests that are served at the same time. Further requests wait in a queue.
    pub(super) places: u32,
}

/// Web servers, each half as fast as the one before it.
pub(super) const SERVERS: [WebServer; 4] = [
    WebServer { name: "a", service_ms: 15, places: 8 },
    WebServer { name: "b", service_ms: 30, places: 8 },
    WebServer { name: "c", service_ms: 60, places: 8 },
    WebServer { name: "d", service_ms: 120, places: 8 },
];

/// Index of the server that is killed: neither the fastest nor the slowest.
pub(super) const VICTIM: usize = 2;

impl WebServer {
    /// Returns the arguments with which a user would start this server.
    pub(super) fn command(&self, bind: SocketAddr) -> Vec<String> {
        let options = [
            ("--bind", bind.to_string()),
            ("--name", self.name.to_owned()),
            ("--service-ms", self.service_ms.to_string()),
            ("--concurrency", self.places.to_string()),
        ];
        let options = options.into_iter().flat_map(|(option, value)| [option.to_owned(), value]);
        std::iter::once("origin".to_owned()).chain(options).collect()
    }

    /// Returns the same arguments with a short grace period, because the demo waits for the server to end.
    pub(super) fn arguments(&self, bind: SocketAddr) -> Vec<String> {
        let mut arguments = self.command(bind);
        arguments.extend(["--grace".to_owned(), "1".to_owned()]);
        arguments
    }

    /// Returns `5 ms`.
    pub(super) fn service_time(&self) -> String {
        format!("{} ms", self.service_ms)
    }

    /// Returns `5 ms, 8 at once`.
    pub(super) fn speed(&self) -> String {
        format!("{}, {} at once", self.service_time(), self.places)
    }
}
