//! Scenarios that Weir contains.

/// Scenario that Weir contains.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// Name on the command line.
    pub name: &'static str,
    /// Text of the scenario.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../scenarios/", $name, ".toml")) }),*]
    };
}

/// All contained scenarios.
pub const SHIPPED: &[Shipped] = shipped![
    "autoscaler",
    "connection-rate",
    "download",
    "eight-tests",
    "failover",
    "idle-connections",
    "lvs",
    "offload",
    "past-the-balancer",
    "reload",
    "same-twice",
    "server-killed",
    "sessions",
    "small-files",
    "tls",
    "webdav-mixed",
    "webdav-propfind",
    "webdav-put",
    "webdav-tls",
];

impl Shipped {
    /// Returns the description: the first line of the text.
    pub fn about(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches('#').trim()
    }
}
