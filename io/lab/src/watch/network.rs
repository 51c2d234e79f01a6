//! Reads network interfaces from /proc/net/dev (proc(5)), and TCP counters from /proc/net/snmp and
//! /proc/net/netstat.

use super::source::{Derived, KernelFile, Source, WatchError, missing, number};
use super::table::{Column, Row};

/// Network interfaces.
#[derive(Debug)]
pub struct Interfaces {
    file: KernelFile,
    /// Names to watch; empty = all.
    wanted: Vec<String>,
}

/// TCP counters of a network namespace.
#[derive(Debug)]
pub struct Tcp {
    snmp: KernelFile,
    netstat: KernelFile,
}

/// Columns in the order of the file.
pub(super) const INTERFACE_COLUMNS: &[Column] = &[
    Column::counter("received_bytes", "Bytes received"),
    Column::counter("received_packets", "Packets received"),
    Column::counter("receive_errors", "Packets that came with an error"),
    Column::counter("receive_drops", "Packets that came and were dropped"),
    Column::counter("receive_fifo_errors", "Overruns of the receiver's queue"),
    Column::counter("receive_frame_errors", "Packets with wrong framing"),
    Column::counter("received_compressed", "Packets that came compressed"),
    Column::counter("received_multicast", "Packets to many that came"),
    Column::counter("sent_bytes", "Bytes sent"),
    Column::counter("sent_packets", "Packets sent"),
    Column::counter("send_errors", "Packets that could not be sent"),
    Column::counter("send_drops", "Packets that were dropped instead of being sent"),
    Column::counter("send_fifo_errors", "Overruns of the sender's queue"),
    Column::counter("collisions", "Collisions"),
    Column::counter("carrier_errors", "Losses of the carrier"),
    Column::counter("sent_compressed", "Packets that were sent compressed"),
];

pub(super) const INTERFACE_DERIVED: &[Derived] = &[
    Derived {
        name: "received_bytes_per_s",
        help: "Bytes received each second",
        of: |it| it.rate("received_bytes"),
    },
    Derived { name: "sent_bytes_per_s", help: "Bytes sent each second", of: |it| it.rate("sent_bytes") },
    Derived {
        name: "received_packets_per_s",
        help: "Packets received each second",
        of: |it| it.rate("received_packets"),
    },
    Derived {
        name: "sent_packets_per_s",
        help: "Packets sent each second",
        of: |it| it.rate("sent_packets"),
    },
    Derived {
        name: "drops_per_s",
        help: "Packets dropped each second, either way",
        of: |it| Some(it.rate("receive_drops")? + it.rate("send_drops")?),
    },
];

pub(super) const TCP_COLUMNS: &[Column] = &[
    Column::counter("active_opens", "Connections that were begun here"),
    Column::counter("passive_opens", "Connections that were accepted here"),
    Column::counter("attempt_fails", "Connections that did not come about"),
    Column::counter("established_resets", "Connections that ended in a reset"),
    Column::gauge("established", "Connections that stand").shown(),
    Column::counter("received_segments", "Segments received"),
    Column::counter("sent_segments", "Segments sent"),
    Column::counter("retransmitted_segments", "Segments sent again"),
    Column::counter("receive_errors", "Segments that came with an error"),
    Column::counter("sent_resets", "Resets sent"),
    Column::counter("listen_overflows", "Connections that found a listener's queue full"),
    Column::counter("listen_drops", "Connections that a listener had to drop for any reason"),
    Column::counter("timeouts", "Waits for an acknowledgement that ended in vain"),
    Column::counter("syn_retransmits", "SYNs and SYN-ACKs sent again"),
    Column::counter("lost_retransmits", "Segments sent again that were lost again"),
    Column::counter("backlog_drops", "Segments dropped because a socket was busy for too long"),
    Column::counter("receive_queue_drops", "Segments dropped because a receive buffer was full"),
    Column::counter("memory_aborts", "Connections ended because TCP had no memory"),
    Column::counter("zero_windows", "Times that a receiver said it had no room"),
    Column::counter("syn_cookies_sent", "Handshakes answered by a cookie because the queue was full"),
];

/// Source of each column: the prefix of the line and the name in its header.
const TCP_NAMES: [(&str, &str); 20] = [
    ("Tcp:", "ActiveOpens"),
    ("Tcp:", "PassiveOpens"),
    ("Tcp:", "AttemptFails"),
    ("Tcp:", "EstabResets"),
    ("Tcp:", "CurrEstab"),
    ("Tcp:", "InSegs"),
    ("Tcp:", "OutSegs"),
    ("Tcp:", "RetransSegs"),
    ("Tcp:", "InErrs"),
    ("Tcp:", "OutRsts"),
    ("TcpExt:", "ListenOverflows"),
    ("TcpExt:", "ListenDrops"),
    ("TcpExt:", "TCPTimeouts"),
    ("TcpExt:", "TCPSynRetrans"),
    ("TcpExt:", "TCPLostRetransmit"),
    ("TcpExt:", "TCPBacklogDrop"),
    ("TcpExt:", "TCPRcvQDrop"),
    ("TcpExt:", "TCPAbortOnMemory"),
    ("TcpExt:", "TCPToZeroWindowAdv"),
    ("TcpExt:", "SyncookiesSent"),
];

pub(super) const TCP_DERIVED: &[Derived] = &[
    Derived {
        name: "opens_per_s",
        help: "Connections accepted each second",
        of: |it| it.rate("passive_opens"),
    },
    Derived {
        name: "retransmitted",
        help: "Share of the segments sent that were sent again",
        of: |it| {
            let sent = it.growth("sent_segments")?;
            (sent > 0.0).then_some(it.growth("retransmitted_segments")? / sent)
        },
    },
    Derived {
        name: "listen_overflows_per_s",
        help: "Connections that found a listener's queue full, each second",
        of: |it| it.rate("listen_overflows"),
    },
];

impl Interfaces {
    /// Watches all interfaces, or those with these names, including interfaces that come later.
    ///
    /// # Errors
    /// If /proc/net/dev cannot be read.
    pub fn new(wanted: Vec<String>) -> Result<Self, WatchError> {
        Ok(Self { file: KernelFile::open("/proc/net/dev")?, wanted })
    }

    /// Watches all interfaces in the network namespace of a process.
    ///
    /// # Errors
    /// If the process has ended, or belongs to another user.
    pub fn of(pid: u32) -> Result<Self, WatchError> {
        Ok(Self { file: KernelFile::open(format!("/proc/{pid}/net/dev"))?, wanted: Vec::new() })
    }
}

impl Source for Interfaces {
    fn name(&self) -> &'static str {
        "network"
    }

    fn columns(&self) -> &'static [Column] {
        INTERFACE_COLUMNS
    }

    fn derived(&self) -> &'static [Derived] {
        INTERFACE_DERIVED
    }

    fn read(&mut self) -> Result<Vec<Row>, WatchError> {
        Ok(interfaces(self.file.read()?, &self.wanted))
    }

    fn missing(&mut self) -> Result<Vec<String>, WatchError> {
        Ok(missing("network interface", &self.wanted, &interfaces(self.file.read()?, &[])))
    }
}

impl Tcp {
    /// Watches TCP in the network namespace of this process.
    ///
    /// # Errors
    /// If /proc/net cannot be read.
    pub fn new() -> Result<Self, WatchError> {
        Self::below("/proc/net")
    }

    /// Watches TCP in the network namespace of a process.
    ///
    /// # Errors
    /// If the process has ended, or belongs to another user.
    pub fn of(pid: u32) -> Result<Self, WatchError> {
        Self::below(&format!("/proc/{pid}/net"))
    }

    fn below(directory: &str) -> Result<Self, WatchError> {
        Ok(Self {
            snmp: KernelFile::open(format!("{directory}/snmp"))?,
            netstat: KernelFile::open(format!("{directory}/netstat"))?,
        })
    }
}

impl Source for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn columns(&self) -> &'static [Column] {
        TCP_COLUMNS
    }

    fn derived(&self) -> &'static [Derived] {
        TCP_DERIVED
    }

    fn read(&mut self) -> Result<Vec<Row>, WatchError> {
        let (snmp, netstat) = (self.snmp.read()?, self.netstat.read()?);
        let value =
            |(prefix, name)| below_header(if prefix == "Tcp:" { snmp } else { netstat }, prefix, name);
        Ok(vec![Row::new("tcp", TCP_NAMES.map(value).to_vec())])
    }
}

fn interfaces(text: &str, wanted: &[String]) -> Vec<Row> {
    let row = |line: &str| {
        let (name, figures) = line.split_once(':')?;
        let name = name.trim();
        let mut words = figures.split_whitespace();
        let is_wanted = wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
        is_wanted.then(|| Row::new(name, INTERFACE_COLUMNS.iter().map(|_| number(words.next())).collect()))
    };
    // The file begins with two lines of headings.
    text.lines().skip(2).filter_map(row).collect()
}

/// Finds a value by its name. Two lines have the same prefix: the first has the names, the second the values.
fn below_header(text: &str, prefix: &str, name: &str) -> Option<f64> {
    let mut lines = text.lines().filter(|line| line.split_whitespace().next() == Some(prefix));
    let (names, figures) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|word| word == name)?;
    // A negative value, such as a MaxConn of -1, is unknown.
    number(figures.split_whitespace().nth(at))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::super::table::Change;
    use super::*;

    #[test]
    fn names_may_touch_their_figures() {
        let text = "Inter-|   Receive |  Transmit\n face |bytes\n  eth0:1234567 8 0 1 0 0 0 0 99 7 0 2 0 0 0 0\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        let rows = interfaces(text, &[]);
        assert_eq!(
            (rows[0].subject.as_str(), rows[0].values[0], rows[0].values[8]),
            ("eth0", Some(1_234_567.0), Some(99.0))
        );
        assert!(rows[1].values.iter().flatten().copied().eq((1..=16).map(f64::from)));
        assert_eq!(interfaces(text, &["lo".to_owned()]).len(), 1);
    }

    #[test]
    fn one_that_is_not_there_is_named_and_read_when_it_comes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let write = |lines: &str| std::fs::write(file.path(), format!("Inter-|\n face |\n{lines}")).unwrap();
        write("lo: 1 2 3\n");
        let wanted = vec!["lo".to_owned(), "tun7".to_owned()];
        let mut interfaces = Interfaces { file: KernelFile::open(file.path()).unwrap(), wanted };
        assert_eq!(interfaces.missing().unwrap(), ["no network interface \"tun7\": there are lo"]);
        assert_eq!(interfaces.read().unwrap().len(), 1);
        write("lo: 1 2 3\ntun7: 4 5 6\n");
        assert!(interfaces.missing().unwrap().is_empty());
        assert_eq!(interfaces.read().unwrap()[1].values[0], Some(4.0));
    }

    #[test]
    fn figures_stand_below_their_names() {
        let text = "Ip: Forwarding\nIp: 1\nTcp: RtoMin MaxConn ActiveOpens RetransSegs\nTcp: 200 -1 17 3\n";
        assert_eq!(below_header(text, "Tcp:", "RetransSegs"), Some(3.0));
        assert_eq!(below_header(text, "Tcp:", "MaxConn"), None);
        assert_eq!(below_header(text, "Tcp:", "NoSuch"), None);
        assert_eq!(below_header("Tcp: RtoMin\n", "Tcp:", "RtoMin"), None);
    }

    #[test]
    fn what_goes_over_loopback_is_seen() {
        let (mut tcp, mut interfaces) =
            (Tcp::new().unwrap(), Interfaces::new(vec!["lo".to_owned()]).unwrap());
        let before = (tcp.read().unwrap().remove(0), interfaces.read().unwrap().remove(0));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[7; 100_000]).unwrap();
        drop(client);
        server.read_to_end(&mut Vec::new()).unwrap();
        let now = (tcp.read().unwrap().remove(0), interfaces.read().unwrap().remove(0));
        let change = Change::new(TCP_COLUMNS, &before.0, &now.0, 1.0).unwrap();
        assert!(
            change.growth("passive_opens").unwrap() >= 1.0 && change.growth("listen_overflows").is_some()
        );
        let change = Change::new(INTERFACE_COLUMNS, &before.1, &now.1, 1.0).unwrap();
        assert!(change.growth("sent_bytes").unwrap() >= 100_000.0);
        assert_eq!(change.growth("sent_bytes"), change.growth("received_bytes"));
    }
}
