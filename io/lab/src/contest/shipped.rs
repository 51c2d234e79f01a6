/// A scenario that comes with Weir.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../scenarios/", $name, ".toml")) }),*]
    };
}

/// All of them.
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
    /// What it is: the first line of its text.
    pub fn about(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches('#').trim()
    }
}
