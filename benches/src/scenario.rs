use clap::ValueEnum;
use serde::Serialize;

/// One kind of load, and what is asked of Weir under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scenario {
    /// 1 KiB, connections kept
    #[value(name = "1k-keepalive")]
    SmallKept,
    /// 1 KiB, one client connection for each request
    #[value(name = "1k-close")]
    SmallClosed,
    /// 64 KiB, connections kept
    #[value(name = "64k")]
    Medium,
    /// 1 MiB, connections kept
    #[value(name = "1m")]
    Large,
    /// 1 KiB, TLS towards clients
    #[value(name = "tls-in-1k")]
    TlsInSmall,
    /// 1 MiB, TLS towards clients
    #[value(name = "tls-in-1m")]
    TlsInLarge,
    /// 1 KiB, TLS towards clients and servers
    #[value(name = "tls-both-1k")]
    TlsBothSmall,
    /// 1 MiB, TLS towards clients and servers
    #[value(name = "tls-both-1m")]
    TlsBothLarge,
    /// 1 KiB, connections kept, an access log line for each request
    #[value(name = "1k-log")]
    SmallLogged,
    /// 1 KiB, connections kept, two workers on two cores shared with the load
    #[value(name = "1k-two-workers")]
    TwoWorkers,
    /// Open loop at half of HAProxy's peak: p50, p99, p99.9
    #[value(name = "latency")]
    Latency,
    /// Resident memory: idle, and with idle connections, plain and TLS
    #[value(name = "memory")]
    Memory,
    /// System calls for each request with 64 busy connections
    #[value(name = "syscalls")]
    Syscalls,
}

/// How the balancer is set up for a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setup {
    pub(crate) tls_in: bool,
    pub(crate) tls_out: bool,
    pub(crate) access_log: bool,
    pub(crate) workers: u32,
    /// How long idle clients are kept.
    pub(crate) client_idle_s: u32,
}

impl Setup {
    /// One worker, plaintext, no log, the idle timeout of Weir's defaults.
    pub(crate) const PLAIN: Self =
        Self { tls_in: false, tls_out: false, access_log: false, workers: 1, client_idle_s: 60 };
}

/// CPU per request against the best rival of the same run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Limits {
    /// More is a failure.
    pub(crate) required: f64,
    /// Where it is meant to go.
    pub(crate) target: f64,
}

impl Scenario {
    /// Every scenario, in the order of the table.
    pub(crate) fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// Its name on the command line and in tables.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// How balancers are set up for it.
    pub(crate) fn setup(self) -> Setup {
        let plain = Setup::PLAIN;
        match self {
            Self::TlsInSmall | Self::TlsInLarge => Setup { tls_in: true, ..plain },
            Self::TlsBothSmall | Self::TlsBothLarge => Setup { tls_in: true, tls_out: true, ..plain },
            Self::SmallLogged => Setup { access_log: true, ..plain },
            Self::TwoWorkers => Setup { workers: 2, ..plain },
            Self::Memory => Setup { client_idle_s: 3600, ..plain },
            Self::SmallKept
            | Self::SmallClosed
            | Self::Medium
            | Self::Large
            | Self::Latency
            | Self::Syscalls => plain,
        }
    }

    /// What clients ask for.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Medium => "/64k",
            Self::Large | Self::TlsInLarge | Self::TlsBothLarge => "/1m",
            _ => "/1k",
        }
    }

    /// Whether clients close after each answer.
    pub(crate) fn closes(self) -> bool {
        self == Self::SmallClosed
    }

    /// What is asked of its CPU per request; `None` where something else is measured, or nothing is required.
    pub(crate) fn limits(self) -> Option<Limits> {
        let limits = |required, target| Some(Limits { required, target });
        match self {
            Self::SmallKept | Self::SmallLogged => limits(0.90, 0.80),
            Self::SmallClosed => limits(0.85, 0.80),
            Self::Medium => limits(0.70, 0.65),
            Self::Large => limits(0.65, 0.60),
            Self::TlsInSmall | Self::TlsInLarge | Self::TlsBothSmall | Self::TlsBothLarge => {
                limits(1.00, 1.00)
            }
            Self::TwoWorkers | Self::Latency | Self::Memory | Self::Syscalls => None,
        }
    }
}

/// System calls per request that may not be exceeded.
pub(crate) const SYSCALLS_MAX: f64 = 4.3;

/// Bytes per idle connection that are aimed at: plain, TLS.
pub(crate) const IDLE_BYTES_TARGET: (f64, f64) = (0.6 * 1024.0, 8.0 * 1024.0);
