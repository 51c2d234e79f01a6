//! Balancers in the kernel, in a separate network namespace. No process does the work, and they do not parse
//! HTTP.
//!
//! Client and servers are in one network. Packets to a server must seem to come from the balancer, or the
//! response would bypass it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use weir_config::lab::{Product, Scheme};

use super::{Assignment, Recipe};

/// Returns rules for nft that select a server per new connection: by a counter, at random, or by the client's
/// address.
pub(super) fn nftables(assignment: &Assignment<'_>) -> String {
    let bind = assignment.bind;
    // Each number selects a server. A server with weight 3 has three numbers.
    let numbers = in_turn(assignment);
    let count = numbers.len();
    let number = match assignment.scheme {
        Scheme::Random => format!("numgen random mod {count}"),
        Scheme::Source => format!("jhash ip saddr mod {count}"),
        // The scenario parser refuses the least-connections algorithm.
        Scheme::RoundRobin | Scheme::LeastConnections => format!("numgen inc mod {count}"),
    };
    let servers: Vec<String> = numbers
        .iter()
        .enumerate()
        .map(|(at, address)| format!("{at} : {} . {}", address.ip(), address.port()))
        .collect();
    format!(
        "table ip web {{
  chain in {{
    type nat hook prerouting priority dstnat;
    ip daddr {ip} tcp dport {port} dnat ip to {number} map {{ {servers} }}
  }}
  chain out {{
    type nat hook postrouting priority srcnat;
    ct status dnat masquerade
  }}
}}
",
        ip = bind.ip(),
        port = bind.port(),
        servers = servers.join(", "),
    )
}

/// Returns the servers in the order of their connections. Each occurs as often as its weight requires, at
/// distances that are as even as possible.
fn in_turn(assignment: &Assignment<'_>) -> Vec<SocketAddr> {
    let addresses = assignment.servers.iter().map(|(_, address)| *address);
    if assignment.weights.is_empty() {
        return addresses.collect();
    }
    let common = assignment.weights.iter().copied().fold(0, common_divisor).max(1);
    let shares = assignment.weights.iter().map(|weight| i64::from(weight / common));
    let mut credits: Vec<(SocketAddr, i64, i64)> =
        addresses.zip(shares).map(|(to, share)| (to, share, 0)).collect();
    let all: i64 = credits.iter().map(|(_, share, _)| share).sum();
    // Smooth weighted round robin, as in NGINX (ngx_http_upstream_round_robin.c).
    let next = |_| {
        credits.iter_mut().for_each(|(_, share, credit)| *credit += *share);
        // Of equal credits, the first server.
        let (to, _, credit) = credits.iter_mut().rev().max_by_key(|(_, _, credit)| *credit)?;
        *credit -= all;
        Some(*to)
    };
    (0..all).filter_map(next).collect()
}

fn common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

/// Returns rules for `ipvsadm --restore`.
pub(super) fn lvs(assignment: &Assignment<'_>) -> String {
    let bind = assignment.bind;
    let is_weighted = !assignment.weights.is_empty();
    let scheduler = assignment.scheduler.unwrap_or(match assignment.scheme {
        Scheme::LeastConnections if is_weighted => "wlc",
        Scheme::RoundRobin if is_weighted => "wrr",
        Scheme::LeastConnections => "lc",
        Scheme::Source => "sh",
        // The scenario parser refuses the random algorithm.
        Scheme::RoundRobin | Scheme::Random => "rr",
    });
    let servers = super::each(
        assignment,
        |weight| format!(" -w {weight}"),
        |_, address, weight| format!("-a -t {bind} -r {address} -m{weight}\n"),
    );
    format!("-A -t {bind} -s {scheduler}\n{servers}")
}

/// Rules that route the responses of LVS's servers through the balancer.
pub(super) const LVS_MASQUERADE: &str = "table ip web {
  chain out {
    type nat hook postrouting priority srcnat;
    masquerade
  }
}
";

/// Script that gives the kernel its rules and then sleeps, so that a process represents the balancer.
pub(super) const NFTABLES_START: &str =
    "echo 1 > /proc/sys/net/ipv4/ip_forward && \"$0\" --file \"$1\" && exec sleep 1000000000";
/// Script that does the same for LVS.
pub(super) const LVS_START: &str = "echo 1 > /proc/sys/net/ipv4/ip_forward && echo 1 > /proc/sys/net/ipv4/vs/conntrack && \
    nft --file \"$2\" && \"$0\" --restore < \"$1\" && exec sleep 1000000000";
/// End of these scripts, which keeps the process.
const STAY: &str = " && exec sleep 1000000000";

/// Checks that the kernel accepts all rules of a rival, in a temporary namespace. A kernel may support
/// tables, but not numbers, maps, masquerading or a scheduler. Writes the files to `directory`.
///
/// # Errors
/// If the kernel refuses the rules. The text contains the output of the program.
pub(super) fn is_able(program: &Path, recipe: &Recipe, directory: &Path) -> Result<(), String> {
    let files = std::iter::once((recipe.file, &recipe.config));
    for (name, text) in files.chain(recipe.others.iter().map(|(name, text)| (*name, text))) {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(|cause| format!("{}: {cause}", path.display()))?;
    }
    let script = recipe.script.and_then(|script| script.strip_suffix(STAY)).unwrap_or_default();
    // If the loopback was never up, the namespace has no table of local addresses, and LVS considers no
    // server address as local.
    let prepared = format!("ip link set lo up && {script}");
    let mut command = Command::new("unshare");
    command.args(["--net", "/bin/sh", "-c", &prepared]).arg(program).args(&recipe.arguments);
    let output = command.stdin(Stdio::null()).output().map_err(|cause| format!("unshare: {cause}"))?;
    match output.status.success() && !script.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "the kernel does not take its rules in a network namespace ({}): {}",
            program.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

/// Returns commands that remove the rules of a product from the kernel: programs and their arguments.
pub(super) fn forgetting(product: Product, program: &Path) -> Vec<(PathBuf, &'static [&'static str])> {
    const FLUSH: &[&str] = &["flush", "ruleset"];
    match product {
        Product::Nftables => vec![(program.to_owned(), FLUSH)],
        Product::Lvs => vec![
            (program.to_owned(), &["--clear"]),
            (super::in_path(&["nft"]).unwrap_or_else(|| "nft".into()), FLUSH),
        ],
        _ => Vec::new(),
    }
}
