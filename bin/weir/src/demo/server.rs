//! The web servers of the demo, and how fast each is.

use std::net::SocketAddr;

/// A web server with so many places, where a request takes so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WebServer {
    pub(super) name: &'static str,
    pub(super) service_ms: u32,
    /// Requests at the same time; more of them wait in line.
    pub(super) places: u32,
}

/// Each half as fast as the one before it.
pub(super) const SERVERS: [WebServer; 4] = [
    WebServer { name: "a", service_ms: 15, places: 8 },
    WebServer { name: "b", service_ms: 30, places: 8 },
    WebServer { name: "c", service_ms: 60, places: 8 },
    WebServer { name: "d", service_ms: 120, places: 8 },
];

/// The one that is killed to show what happens: neither the fastest nor the slowest.
pub(super) const VICTIM: usize = 2;

impl WebServer {
    /// Returns the arguments that make this program this server, as a person types them.
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

    /// Returns the same arguments with a short grace period, because the demo waits for its end.
    pub(super) fn arguments(&self, bind: SocketAddr) -> Vec<String> {
        let mut arguments = self.command(bind);
        arguments.extend(["--grace".to_owned(), "1".to_owned()]);
        arguments
    }

    /// Returns `5 ms`.
    pub(super) fn service_time(&self) -> String {
        format!("{} ms", self.service_ms)
    }

    /// `5 ms, 8 at once`.
    pub(super) fn speed(&self) -> String {
        format!("{}, {} at once", self.service_time(), self.places)
    }
}
