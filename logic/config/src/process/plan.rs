//! Valid settings of the whole process.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use ipnet::IpNet;
use serde::Serialize;
use weir_http::HostPattern;
use weir_model::{BindAddress, ByteSize, Millis, ZoneName};

use crate::tls::plan::TlsIn;

/// Settings of the whole process (`[weir]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProcessPlan {
    /// Number of worker threads; `None` = one for each core that the process may use.
    pub workers: Option<u16>,
    /// Path of the control socket.
    pub control: Option<PathBuf>,
    /// File for runtime changes; `None` = changes are lost when the process ends.
    pub state: Option<PathBuf>,
    /// User of the process after it has bound its addresses; `None` = the user that started it.
    pub user: Option<String>,
    /// Group after the bind; `None` = the user's group.
    pub group: Option<String>,
    /// True if the process may write only to paths of the config, and may start no programs.
    pub sandbox: bool,
    /// More user and group ids that storage areas may act as. For maps that grow while the process runs in a
    /// user namespace.
    pub act_as_ids: Vec<IdRange>,
    /// True if the kernel may dump the memory of the process to disk.
    pub core_dumps: bool,
    /// Time limit for requests and tunnels to end after SIGTERM.
    pub drain_timeout: Millis,
    /// Maximum number of client connections of all listeners; `None` = as many as the descriptor limit
    /// allows.
    pub connections_max: Option<u32>,
    /// Memory limit of the process.
    pub memory_max: MemoryLimit,
    /// Zone of this Weir; `None` = only pools with a zone of their own use zones.
    pub zone: Option<ZoneName>,
    /// Name among the Weirs that share directories; `None` = the host name.
    pub node: Option<String>,
}

/// A range of user or group ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct IdRange {
    /// First id; above 0, which is root.
    pub first: u32,
    /// Last id; not below the first, and below `u32::MAX`, which system calls use for "no id".
    pub last: u32,
}

/// Memory limit; the reference for `[weir] max-memory` describes the behavior near it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryLimit {
    /// The limit of the control group, if it has one.
    #[default]
    Group,
    /// No limit.
    Off,
    /// This many bytes.
    Bytes(ByteSize),
}

/// Admin interface over HTTP (`[admin]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AdminPlan {
    /// Listening addresses.
    pub bind: Vec<BindAddress>,
    /// Networks of permitted clients; empty = all.
    pub allow: Vec<IpNet>,
    /// File with users and passwords; `None` = no login.
    pub htpasswd: Option<PathBuf>,
    /// TLS settings; `None` = plaintext.
    pub tls: Option<TlsIn>,
    /// Host names that requests may have in Host, besides those of the machine.
    pub hosts: Vec<HostPattern>,
}

/// Resolver of server names (`[resolver]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResolverPlan {
    /// DNS servers; empty = those of /etc/resolv.conf.
    pub servers: Vec<SocketAddr>,
    /// Time limit for a query.
    pub timeout: Millis,
    /// Minimum time for which an answer is used, even if its TTL is shorter.
    pub ttl_min: Millis,
    /// Maximum time after which Weir repeats a query.
    pub ttl_max: Millis,
    /// Time for which an address stays in use after answers lack it, if its name has several addresses.
    pub obsolete_hold: Millis,
}

/// Access log (`[access-log]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AccessLogPlan {
    /// Format of a line.
    pub format: AccessLogFormat,
    /// Destination of the lines.
    pub target: LogTarget,
}

/// Format of an access log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessLogFormat {
    /// NCSA common.
    Common,
    /// NCSA combined.
    Combined,
    /// One JSON object per line.
    Json,
    /// HAProxy's `option httplog` (`option tcplog` for TCP).
    Httplog,
}

/// Destination of log lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogTarget {
    /// Standard output.
    Stdout,
    /// A file, which Weir reopens on SIGUSR1.
    File(PathBuf),
    /// A syslog daemon: a Unix datagram socket (`/dev/log`) or a UDP address, RFC 5424 lines.
    Syslog {
        /// Address of the daemon.
        address: BindAddress,
        /// Facility of the lines.
        facility: SyslogFacility,
    },
}

/// A syslog facility's number (RFC 5424 section 6.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SyslogFacility(pub u8);

impl FromStr for IdRange {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u32>().ok().filter(|_| plain)
        };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (number(first), number(last)) {
            (Some(0), _) => Err("0 is root, whom nobody acts as"),
            (Some(_), Some(u32::MAX)) => Err("4294967295 is no user or group"),
            (Some(first), Some(last)) if first > last => Err("the first number is above the last"),
            (Some(first), Some(last)) => Ok(Self { first, last }),
            _ => Err("is neither a number nor two with - between them, such as \"20000-29999\""),
        }
    }
}

impl fmt::Display for IdRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => write!(f, "{}", self.first),
            false => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

/// The body of Weir's own error responses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorPage {
    /// Content-Type of the body.
    pub content_type: String,
    /// Body.
    pub body: String,
}
