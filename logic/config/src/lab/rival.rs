//! Balancers that a lab scenario compares.

use std::path::PathBuf;

use serde::Serialize;
use weir_model::Millis;

use super::Mark;

/// A balancer to compare, or none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rival {
    /// Name in reports.
    pub name: String,
    /// Product of the balancer.
    pub product: Product,
    /// Program; `None` = found by its name.
    pub program: Option<PathBuf>,
    /// Balancing scheme; has no meaning for [`Product::None`].
    pub scheme: Scheme,
    /// Transfer mode.
    pub way: Way,
    /// Fleet that scales the servers with demand.
    pub fleet: Option<FleetSetup>,
    /// LVS only: name of an LVS scheduler, which replaces [`Self::scheme`].
    pub scheduler: Option<String>,
    /// Weir only: TOML value of the pool's `balance`, which replaces [`Self::scheme`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<String>,
    /// Position in the scenario.
    #[serde(skip)]
    pub mark: Option<Mark>,
}

/// Product of a rival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Product {
    /// No balancer: the client connects to the first server.
    None,
    /// Weir.
    Weir,
    /// HAProxy.
    Haproxy,
    /// NGINX.
    Nginx,
    /// Apache with mod_proxy_balancer.
    Apache,
    /// Envoy.
    Envoy,
    /// Caddy.
    Caddy,
    /// Traefik.
    Traefik,
    /// Pound.
    Pound,
    /// Sozu.
    Sozu,
    /// Linux Virtual Server, in the kernel, configured with ipvsadm.
    Lvs,
    /// The kernel's packet filter, configured with nft.
    Nftables,
}

/// A fleet of Weir's test server, as processes that the balancer starts and stops.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetSetup {
    /// Minimum number of servers.
    pub min: u32,
    /// Maximum number of servers.
    pub max: u32,
    /// Requests per second that one server can handle.
    pub capacity: f64,
    /// Scaling policy.
    pub policy: FleetPolicy,
    /// Duration that stands for a minute: the times of the policy shrink in proportion.
    pub minute: Millis,
    /// Start time of a server.
    pub boot: Millis,
}

/// Scaling policy of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FleetPolicy {
    /// The mean of the last minute, as in the published autoscaler.
    Reactive,
    /// Weir's default policy.
    Target,
}

/// Transfer mode: the way by which content reaches clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Through the balancer; without one, from the first server.
    Proxied,
    /// A server names the file (`X-Accel-Redirect`) and the balancer sends it.
    Offloaded,
    /// The balancer redirects clients to a server (307).
    Redirected,
    /// Without a balancer: clients use all servers in turn, as with a DNS name that has several addresses.
    Dns,
}

impl Way {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::Proxied, Self::Offloaded, Self::Redirected, Self::Dns];

    /// Returns the name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proxied => "proxied",
            Self::Offloaded => "offloaded",
            Self::Redirected => "redirected",
            Self::Dns => "dns",
        }
    }

    /// Returns true if a product supports this.
    pub fn is_of(self, product: Product) -> bool {
        match self {
            Self::Proxied => true,
            Self::Offloaded => matches!(product, Product::Weir | Product::Nginx),
            Self::Redirected => product == Product::Weir,
            Self::Dns => product == Product::None,
        }
    }
}

impl Rival {
    /// Returns true if the rival uses a scheme that only its product has.
    pub fn has_own_scheme(&self) -> bool {
        self.scheduler.is_some() || self.balance.is_some()
    }
}

impl Product {
    /// All variants.
    pub const ALL: [Self; 12] = [
        Self::None,
        Self::Weir,
        Self::Haproxy,
        Self::Nginx,
        Self::Apache,
        Self::Envoy,
        Self::Caddy,
        Self::Traefik,
        Self::Pound,
        Self::Sozu,
        Self::Lvs,
        Self::Nftables,
    ];

    /// Returns the name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Weir => "weir",
            Self::Haproxy => "haproxy",
            Self::Nginx => "nginx",
            Self::Apache => "apache",
            Self::Envoy => "envoy",
            Self::Caddy => "caddy",
            Self::Traefik => "traefik",
            Self::Pound => "pound",
            Self::Sozu => "sozu",
            Self::Lvs => "lvs",
            Self::Nftables => "nftables",
        }
    }

    /// Returns true if the product supports the scheme.
    pub fn has(self, scheme: Scheme) -> bool {
        use Scheme::{LeastConnections, Random, RoundRobin, Source};
        match self {
            Self::Apache => matches!(scheme, RoundRobin | LeastConnections),
            Self::Traefik => scheme == RoundRobin,
            Self::Pound => matches!(scheme, RoundRobin | Random),
            Self::Sozu => scheme != Source,
            Self::Lvs => scheme != Random,
            Self::Nftables => scheme != LeastConnections,
            _ => true,
        }
    }

    /// Returns the highest server weight that the product supports with this scheme; 0 = it ignores weights.
    pub fn weight_max(self, scheme: Scheme) -> u32 {
        match (self, scheme) {
            (Self::Apache, _) => 100,
            (Self::Pound, _) => 9,
            (Self::Envoy, Scheme::Random) => 0,
            (Self::Caddy, Scheme::RoundRobin) => 256,
            (Self::Sozu, Scheme::Random) => 255,
            (Self::Caddy | Self::Sozu, _) => 0,
            _ => 256,
        }
    }

    /// Returns true if the kernel does the work, packet by packet: it speaks no TLS, and no process uses its
    /// CPU time.
    pub fn is_kernel(self) -> bool {
        matches!(self, Self::Lvs | Self::Nftables)
    }

    /// Returns two flags: support for TLS to clients, and for verified TLS to servers.
    pub fn speaks_tls(self) -> (bool, bool) {
        match self {
            Self::Pound | Self::Sozu => (true, false),
            other => (!other.is_kernel(), !other.is_kernel()),
        }
    }

    /// Returns true if the product reloads its configuration on a signal.
    pub fn can_reload(self) -> bool {
        matches!(self, Self::None | Self::Weir | Self::Haproxy | Self::Nginx | Self::Apache)
    }
}

/// Balancing scheme, under a vendor-neutral name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Servers in turn.
    RoundRobin,
    /// The server with the fewest active requests.
    LeastConnections,
    /// A hash of the client's address.
    Source,
    /// A random server.
    Random,
}

impl Scheme {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::RoundRobin, Self::LeastConnections, Self::Source, Self::Random];

    /// Returns the name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::LeastConnections => "least-connections",
            Self::Source => "source",
            Self::Random => "random",
        }
    }
}
