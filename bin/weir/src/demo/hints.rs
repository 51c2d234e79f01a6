//! What there is to see and to try.

use super::facts::{BalancerFacts, Facts, NodeFacts, ServerFacts};
use super::server::VICTIM;
use super::storage::PLACE;
use crate::ctl::table::{Align, Style, Table};

/// What runs where.
pub(super) fn introduction(facts: &Facts, rate_per_s: u32, style: Style) -> String {
    let mut table = Table::new(&[
        ("SERVER", Align::Left),
        ("SPEED", Align::Left),
        ("ADDRESS", Align::Left),
        ("PROCESS", Align::Right),
    ]);
    for ServerFacts { spec, address, pid } in &facts.servers {
        let name = spec.name.into();
        table.row(vec![name, spec.speed().into(), address.to_string().into(), pid.to_string().into()]);
    }
    for NodeFacts { name, address, pid } in &facts.nodes {
        let what = "storage node".into();
        table.row(vec![(*name).into(), what, address.to_string().into(), pid.to_string().into()]);
    }
    let title = style.bold("Weir demo");
    let (count, nodes) = (facts.servers.len(), facts.nodes.len());
    let BalancerFacts { site, app, admin, .. } = facts.balancer;
    let files = &facts.files;
    let (config, access_log, log) = (files.config.display(), files.access_log.display(), files.log.display());
    format!(
        "{title}: {count} web servers of unequal speed, {nodes} storage nodes that share a directory, a fleet that follows its load, a
balancer in front of them, {rate_per_s} requests/s.

{table}
  site         http://{site}/          (reload it: each server has its own colour)
  files        http://{site}{PLACE}     (browse and upload; also with WebDAV)
  fleet        http://{app}/          (its load comes and goes; processes are started and stopped for it)
  status page  http://{admin}/
  metrics      http://{admin}/metrics
  config       {config}
  access log   {access_log}
  messages     {log}
",
        table = table.render("  ", style),
    )
}

/// Commands to try. `program` is how this one was called; `victim_lives` if the server that is proposed for it can be
/// killed.
pub(super) fn to_try(facts: &Facts, victim_lives: bool, program: &str, style: Style) -> String {
    let title = style.bold("Try, in another terminal:");
    let kill = facts.servers.get(VICTIM).map_or(String::new(), |victim| kill(victim, victim_lives, program));
    let (site, pid) = (facts.balancer.site, facts.balancer.pid);
    let (control, config) = (shell(&facts.files.control), shell(&facts.files.config));
    let files = facts.nodes.last().map_or(String::new(), |node| {
        format!(
            "  # Files: what one storage node takes, the other one has.\n  curl -T /etc/hostname http://{site}{PLACE}\n  \
             curl http://{}{PLACE}hostname\n\n",
            node.address
        )
    });
    format!(
        "{title}

{kill}
  # Server b finishes what it has, and gets nothing new; then it is back.
  {program} ctl --socket {control} drain web/b
  {program} ctl --socket {control} ready web/b

  # What a request would get, and why.
  {program} explain {config} --url http://{site}/

  # The fleet: how many servers it has, and why. Then how that was over time, to be looked at in a browser.
  {program} fleet explain --socket {control}
  {program} fleet history --socket {control} --svg fleet.svg

{files}  # A new config. One that is wrong changes nothing.
  ${{EDITOR:-vi}} {config}
  kill -HUP {pid}
"
    )
}

fn kill(victim: &ServerFacts, lives: bool, program: &str) -> String {
    let ServerFacts { spec, address, pid } = victim;
    let (name, start) = (spec.name, spec.arguments(*address).join(" "));
    // Its number may be another process's by now.
    let kill = match lives {
        true => {
            format!("  # Server {name} dies: watch it leave, while no request fails.\n  kill -9 {pid}\n\n")
        }
        false => String::new(),
    };
    format!("{kill}  # Server {name} comes back, until Ctrl-C.\n  {program} {start}\n")
}

/// A path as a shell takes it.
fn shell(path: &std::path::Path) -> String {
    quoted(&path.to_string_lossy())
}

/// How this program was called, as a shell takes it.
pub(super) fn program() -> String {
    std::env::args_os().next().map_or("weir".to_owned(), |name| quoted(&name.to_string_lossy()))
}

fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::path::Path;

    use super::super::facts::Files;
    use super::super::server::SERVERS;
    use super::super::storage::NODES;
    use super::*;

    fn facts(directory: &str) -> Facts {
        let loopback = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let servers = SERVERS.into_iter().zip(0..);
        let servers = servers.map(|(spec, at)| ServerFacts {
            spec,
            address: loopback(9001 + at),
            pid: 501 + u32::from(at),
        });
        Facts {
            balancer: BalancerFacts {
                site: loopback(8000),
                app: loopback(8002),
                admin: loopback(8001),
                pid: 500,
            },
            servers: servers.collect(),
            nodes: NODES
                .into_iter()
                .zip(0..)
                .map(|(name, at)| NodeFacts { name, address: loopback(9101 + at), pid: 601 + u32::from(at) })
                .collect(),
            files: Files::within(Path::new(directory)),
        }
    }

    #[test]
    fn the_introduction_tells_what_runs_where() {
        insta::assert_snapshot!(introduction(&facts("/temp/demo"), 200, Style::Plain), @r"
        Weir demo: 4 web servers of unequal speed, 2 storage nodes that share a directory, a fleet that follows its load, a
        balancer in front of them, 200 requests/s.

          SERVER   SPEED              ADDRESS         PROCESS
          a        15 ms, 8 at once   127.0.0.1:9001      501
          b        30 ms, 8 at once   127.0.0.1:9002      502
          c        60 ms, 8 at once   127.0.0.1:9003      503
          d        120 ms, 8 at once  127.0.0.1:9004      504
          store-1  storage node       127.0.0.1:9101      601
          store-2  storage node       127.0.0.1:9102      602

          site         http://127.0.0.1:8000/          (reload it: each server has its own colour)
          files        http://127.0.0.1:8000/data/     (browse and upload; also with WebDAV)
          fleet        http://127.0.0.1:8002/          (its load comes and goes; processes are started and stopped for it)
          status page  http://127.0.0.1:8001/
          metrics      http://127.0.0.1:8001/metrics
          config       /temp/demo/weir.toml
          access log   /temp/demo/access.log
          messages     /temp/demo/demo.log
        ");
    }

    #[test]
    fn what_to_try_can_be_pasted() {
        insta::assert_snapshot!(to_try(&facts("/temp/demo"), true, "weir", Style::Plain), @r"
        Try, in another terminal:

          # Server c dies: watch it leave, while no request fails.
          kill -9 503

          # Server c comes back, until Ctrl-C.
          weir origin --bind 127.0.0.1:9003 --name c --service-ms 60 --concurrency 8 --grace 1

          # Server b finishes what it has, and gets nothing new; then it is back.
          weir ctl --socket /temp/demo/control.sock drain web/b
          weir ctl --socket /temp/demo/control.sock ready web/b

          # What a request would get, and why.
          weir explain /temp/demo/weir.toml --url http://127.0.0.1:8000/

          # The fleet: how many servers it has, and why. Then how that was over time, to be looked at in a browser.
          weir fleet explain --socket /temp/demo/control.sock
          weir fleet history --socket /temp/demo/control.sock --svg fleet.svg

          # Files: what one storage node takes, the other one has.
          curl -T /etc/hostname http://127.0.0.1:8000/data/
          curl http://127.0.0.1:9102/data/hostname

          # A new config. One that is wrong changes nothing.
          ${EDITOR:-vi} /temp/demo/weir.toml
          kill -HUP 500
        ");
    }

    #[test]
    fn a_dead_server_is_not_to_be_killed_again() {
        let text = to_try(&facts("/temp/demo"), false, "weir", Style::Plain);
        assert!(!text.contains("kill -9") && text.contains("# Server c comes back"), "{text}");
    }

    #[test]
    fn odd_paths_are_quoted_for_the_shell() {
        let text = to_try(&facts("/my temp/it's"), true, "weir", Style::Plain);
        assert!(text.contains("--socket '/my temp/it'\\''s/control.sock' drain"), "{text}");
    }
}
