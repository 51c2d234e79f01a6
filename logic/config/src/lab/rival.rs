use std::path::PathBuf;

use serde::Serialize;
use weir_model::Millis;

use super::Mark;

/// A balancer, or none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rival {
    /// What reports call it.
    pub name: String,
    /// What it is.
    pub product: Product,
    /// Its program, unless it is found by its name.
    pub program: Option<PathBuf>,
    /// How it chooses; of no meaning for [`Product::None`].
    pub scheme: Scheme,
    /// How what is asked for comes to clients.
    pub way: Way,
    /// Its servers come and go with demand.
    pub fleet: Option<FleetSetup>,
    /// Of LVS: its own name of how it chooses, in place of [`Self::scheme`].
    pub scheduler: Option<String>,
    /// Of Weir: what its pool's `balance` is, as TOML writes it, in place of [`Self::scheme`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<String>,
    /// Where it is asked for.
    #[serde(skip)]
    pub mark: Option<Mark>,
}

/// What a rival is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Product {
    /// No balancer: the client speaks with the first server.
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
    /// Linux Virtual Server: the kernel, by ipvsadm.
    Lvs,
    /// The kernel's packet filter, by nft.
    Nftables,
}

/// Servers that come and go: Weir's test server, as processes that the balancer starts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetSetup {
    /// Never fewer.
    pub min: u32,
    /// Never more.
    pub max: u32,
    /// Requests a second that one can do.
    pub capacity: f64,
    /// How demand becomes a number.
    pub policy: FleetPolicy,
    /// What is a minute elsewhere: the policy's times are so much shorter.
    pub minute: Millis,
    /// How long a server takes to start.
    pub boot: Millis,
}

/// A policy of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FleetPolicy {
    /// The mean of the last minute, as the published autoscaler has it.
    Reactive,
    /// What Weir does by itself.
    Target,
}

/// How what is asked for comes to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Through the balancer; without one, from the first server.
    Proxied,
    /// A server names the file (`X-Accel-Redirect`), the balancer sends it.
    Offloaded,
    /// The balancer sends clients on to a server (307).
    Redirected,
    /// Without a balancer: clients ask all servers in turn, as a name with several addresses makes them.
    Dns,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Proxied, Self::Offloaded, Self::Redirected, Self::Dns];

    /// As the file calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proxied => "proxied",
            Self::Offloaded => "offloaded",
            Self::Redirected => "redirected",
            Self::Dns => "dns",
        }
    }

    /// Whether a product can do so.
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
    /// Whether it chooses by something that only its product has.
    pub fn has_own_scheme(&self) -> bool {
        self.scheduler.is_some() || self.balance.is_some()
    }
}

impl Product {
    /// All of them.
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

    /// As the file calls it.
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

    /// Whether it can choose so.
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

    /// The highest weight that servers may have where it chooses so; 0 = it takes no account of weights there.
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

    /// Whether the kernel does the work, packet by packet: it speaks no TLS, and no process uses its CPU time.
    pub fn is_kernel(self) -> bool {
        matches!(self, Self::Lvs | Self::Nftables)
    }

    /// Whether it can speak TLS to clients, and verified TLS to servers.
    pub fn speaks_tls(self) -> (bool, bool) {
        match self {
            Self::Pound | Self::Sozu => (true, false),
            other => (!other.is_kernel(), !other.is_kernel()),
        }
    }

    /// Whether a signal makes it read its configuration again.
    pub fn can_reload(self) -> bool {
        matches!(self, Self::None | Self::Weir | Self::Haproxy | Self::Nginx | Self::Apache)
    }
}

/// How a balancer chooses, under a name that is nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// One after the other.
    RoundRobin,
    /// The one with the fewest requests under way.
    LeastConnections,
    /// By the client's address.
    Source,
    /// At random.
    Random,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::RoundRobin, Self::LeastConnections, Self::Source, Self::Random];

    /// As the file calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::LeastConnections => "least-connections",
            Self::Source => "source",
            Self::Random => "random",
        }
    }
}
