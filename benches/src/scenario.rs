//! Scenarios of a comparison. Doc comments of variants are their help texts.

use clap::ValueEnum;
use serde::Serialize;

/// One kind of load, and the requirements for Weir under it.
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

/// Configuration of the balancer for a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setup {
    pub(crate) tls_in: bool,
    pub(crate) tls_out: bool,
    pub(crate) access_log: bool,
    pub(crate) workers: u32,
    /// Seconds that idle clients are kept.
    pub(crate) client_idle_s: u32,
}

impl Setup {
    /// One worker, plain HTTP, no log, and the idle timeout of Weir's defaults.
    pub(crate) const PLAIN: Self =
        Self { tls_in: false, tls_out: false, access_log: false, workers: 1, client_idle_s: 60 };
}

/// Limits for the CPU per request, relative to the best rival of the same run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Limits {
    /// Highest accepted ratio.
    pub(crate) required: f64,
    /// Ratio to aim at.
    pub(crate) target: f64,
}

impl Scenario {
    /// Returns every scenario, in the order of the table.
    pub(crate) fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// Returns the name on the command line and in tables.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Returns the configuration of the balancers.
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

    /// Returns the path that clients request.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Medium => "/64k",
            Self::Large | Self::TlsInLarge | Self::TlsBothLarge => "/1m",
            _ => "/1k",
        }
    }

    /// Returns whether clients close after each response.
    pub(crate) fn closes(self) -> bool {
        self == Self::SmallClosed
    }

    /// Returns the limits for the CPU per request; `None` if something else is measured or nothing is
    /// required.
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

/// Largest number of system calls per request.
pub(crate) const SYSCALLS_MAX: f64 = 4.3;

/// Target in bytes per idle connection: plain, TLS.
pub(crate) const IDLE_BYTES_TARGET: (f64, f64) = (0.6 * 1024.0, 8.0 * 1024.0);
