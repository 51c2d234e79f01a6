//! Valid settings of the process as a whole.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use ipnet::IpNet;
use serde::Serialize;
use weir_http::HostPattern;
use weir_model::{BindAddress, ByteSize, Millis, ZoneName};

use crate::tls::plan::TlsIn;

/// What concerns the process as a whole (`[weir]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProcessPlan {
    /// Worker threads; `None` = one for each core that the process may use.
    pub workers: Option<u16>,
    /// The control socket's path.
    pub control: Option<PathBuf>,
    /// Where runtime changes are kept; `None` = they last until the process ends.
    pub state: Option<PathBuf>,
    /// As whom the process runs once it has bound its addresses; `None` = as who has started it.
    pub user: Option<String>,
    /// Its group then; `None` = the user's.
    pub group: Option<String>,
    /// It may write only where the config says, and start nothing.
    pub sandbox: bool,
    /// Further users and groups that areas may act as, for maps that grow while the process runs in a user namespace.
    pub act_as_ids: Vec<IdRange>,
    /// The kernel may write its memory to disk.
    pub core_dumps: bool,
    /// How long requests and tunnels may take to end after SIGTERM.
    pub drain_timeout: Millis,
    /// Client connections of all listeners together; `None` = what the descriptor limit allows.
    pub connections_max: Option<u32>,
    /// Memory that the process should not exceed.
    pub memory_max: MemoryLimit,
    /// Where this Weir is; `None` = zones do not count, but in pools that have one of their own.
    pub zone: Option<ZoneName>,
    /// Its name among those that share directories; `None` = the host name.
    pub node: Option<String>,
}

/// Numbers of users and groups, from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct IdRange {
    /// Above 0, which is root's.
    pub first: u32,
    /// Not below the first, and below `u32::MAX`, which stands for nobody in system calls.
    pub last: u32,
}

/// Up to where memory is used freely; what happens near it, `[weir] max-memory` says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryLimit {
    /// What the control group permits; no limit where that has none.
    #[default]
    Group,
    /// No limit.
    Off,
    /// So much.
    Bytes(ByteSize),
}

/// The HTTP face for operators and machines (`[admin]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AdminPlan {
    /// Where it listens.
    pub bind: Vec<BindAddress>,
    /// Networks whose clients may connect; empty = all.
    pub allow: Vec<IpNet>,
    /// Users and passwords; `None` = no login.
    pub htpasswd: Option<PathBuf>,
    /// TLS; `None` = plaintext.
    pub tls: Option<TlsIn>,
    /// Names beside those of the machine that requests may have in Host.
    pub hosts: Vec<HostPattern>,
}

/// Server names are resolved with these (`[resolver]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResolverPlan {
    /// DNS servers; empty = those of /etc/resolv.conf.
    pub servers: Vec<SocketAddr>,
    /// One query.
    pub timeout: Millis,
    /// An answer is used at least this long, whatever its TTL.
    pub ttl_min: Millis,
    /// An answer is asked for again after this long at the latest.
    pub ttl_max: Millis,
    /// An address that answers lack stays in use for this long, if its name has several.
    pub obsolete_hold: Millis,
}

/// A line for each request (`[access_log]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AccessLogPlan {
    /// How it is written.
    pub format: AccessLogFormat,
    /// Where it goes.
    pub target: LogTarget,
}

/// How an access log line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessLogFormat {
    /// NCSA common.
    Common,
    /// NCSA combined.
    Combined,
    /// One JSON object a line.
    Json,
    /// HAProxy's `option httplog` (`option tcplog` for TCP).
    Httplog,
}

/// Where log lines go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogTarget {
    /// Standard output.
    Stdout,
    /// A file, opened anew on SIGUSR1.
    File(PathBuf),
    /// A syslog daemon: a Unix datagram socket (`/dev/log`) or a UDP address, RFC 5424 lines.
    Syslog {
        /// Where the daemon listens.
        address: BindAddress,
        /// The facility.
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

/// The body of an error that Weir answers with itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorPage {
    /// Its Content-Type.
    pub content_type: String,
    /// The body.
    pub body: String,
}
