//! Texts of the demo: an overview, and commands to try. They fit a terminal of 80 columns and 24 lines.

use super::facts::{BalancerFacts, Facts, NodeFacts, ServerFacts};
use super::server::VICTIM;
use super::storage::PLACE;
use crate::ctl::table::{Align, Style, Table};

/// Column at which the explanations in the panel begin.
const EXPLANATION_AT: usize = 48;

/// Describes the processes of the demo and their addresses.
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
    let BalancerFacts { site, app, admin } = facts.balancer;
    let directory = facts.files.directory.display();
    format!(
        "{title}: {count} web servers of unequal speed, {nodes} storage nodes that share a
directory, a fleet that follows its load, a balancer in front, {rate_per_s} requests/s.

{table}
  site         http://{site}/  (each server's page has its own colour)
  files        http://{site}{PLACE}  (browse, upload, WebDAV)
  fleet        http://{app}/  (its load comes and goes)
  status page  http://{admin}/
  metrics      http://{admin}/metrics
  directory    {directory}: weir.toml, access.log, demo.log

Nothing leaves this machine. The access log grows by 2 MB a minute. At the end
of the demo, its processes and files go with it.
",
        table = table.render("  ", style),
    )
}

/// Lists the commands to try. `victim_lives`: the server that they propose to kill runs.
pub(super) fn to_try(facts: &Facts, victim_lives: bool, style: Style) -> String {
    let title = style.bold("Try, in another terminal:");
    let directory = shell(&facts.files.directory);
    let victim =
        facts.servers.get(VICTIM).map_or(String::new(), |victim| victim_commands(victim, victim_lives));
    let site = facts.balancer.site;
    let files = facts.nodes.last().map_or(String::new(), |node| {
        format!(
            "  # Files: an upload through the balancer, read from one of the storage nodes.\n  \
             curl -T /etc/hostname http://{site}{PLACE}\n  curl http://{}{PLACE}hostname\n\n",
            node.address
        )
    });
    format!(
        "{title} cd {directory}

{victim}
  # Server b finishes its requests and gets no new ones; then it is back.
  ./weir ctl --socket control.sock drain web/b
  ./weir ctl --socket control.sock ready web/b

  # What a request would get, and why; how many servers the fleet has, and why.
  ./weir explain weir.toml --url http://{site}/
  ./weir fleet explain --socket control.sock

{files}  # Another config. A config with a mistake changes nothing.
  ${{EDITOR:-vi}} weir.toml; ./weir ctl --socket control.sock reload
"
    )
}

fn victim_commands(victim: &ServerFacts, lives: bool) -> String {
    let ServerFacts { spec, address, pid } = victim;
    let name = spec.name;
    let start = format!("  ./weir {}\n", spec.command(*address).join(" "));
    // Another process may have this process id by now.
    match lives {
        true => format!(
            "  # Server {name} dies, and no request fails; then it is back, until Ctrl-C.\n  kill -9 {pid}\n{start}"
        ),
        false => format!("  # Server {name} is back, until Ctrl-C.\n{start}"),
    }
}

/// Returns the lines below the live view: the first commands to try.
pub(super) fn panel(facts: &Facts, victim_lives: bool) -> Vec<String> {
    let BalancerFacts { site, admin, .. } = facts.balancer;
    let mut lines =
        vec![format!("In another terminal: cd {}  (q: more commands)", shell(&facts.files.directory))];
    let mut command = |command: &str, explanation: &str| {
        lines.push(format!("  {command:<width$}{explanation}", width = EXPLANATION_AT - 2));
    };
    if let Some(ServerFacts { spec, pid, .. }) = facts.servers.get(VICTIM).filter(|_| victim_lives) {
        command(&format!("kill -9 {pid}"), &format!("server {} dies, no request fails", spec.name));
    }
    command("./weir ctl --socket control.sock drain web/b", "server b finishes its requests");
    lines.push(format!("  site http://{site}/ and {PLACE}, status page http://{admin}/"));
    lines
}

/// Quotes a path for the shell.
fn shell(path: &std::path::Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
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
            balancer: BalancerFacts { site: loopback(8000), app: loopback(8002), admin: loopback(8001) },
            servers: servers.collect(),
            nodes: NODES
                .into_iter()
                .zip(0..)
                .map(|(name, at)| NodeFacts { name, address: loopback(9101 + at), pid: 601 + u32::from(at) })
                .collect(),
            files: Files::within(Path::new(directory)),
        }
    }

    /// Facts with the longest addresses and process ids, in the usual directory.
    fn long_facts() -> Facts {
        let mut facts = facts("/tmp/weir-demo-4194303-aZ09bc");
        let long = |port| SocketAddr::from(([127, 0, 0, 1], port));
        (facts.balancer.site, facts.balancer.app, facts.balancer.admin) =
            (long(50_000), long(50_001), long(50_002));
        facts.servers.iter_mut().for_each(|server| (server.address, server.pid) = (long(50_003), 4_194_303));
        facts.nodes.iter_mut().for_each(|node| (node.address, node.pid) = (long(50_004), 4_194_303));
        facts
    }

    #[test]
    fn the_introduction_tells_what_runs_where() {
        insta::assert_snapshot!(introduction(&facts("/temp/demo"), 200, Style::Plain), @r"
        Weir demo: 4 web servers of unequal speed, 2 storage nodes that share a
        directory, a fleet that follows its load, a balancer in front, 200 requests/s.

          SERVER   SPEED              ADDRESS         PROCESS
          a        15 ms, 8 at once   127.0.0.1:9001      501
          b        30 ms, 8 at once   127.0.0.1:9002      502
          c        60 ms, 8 at once   127.0.0.1:9003      503
          d        120 ms, 8 at once  127.0.0.1:9004      504
          store-1  storage node       127.0.0.1:9101      601
          store-2  storage node       127.0.0.1:9102      602

          site         http://127.0.0.1:8000/  (each server's page has its own colour)
          files        http://127.0.0.1:8000/data/  (browse, upload, WebDAV)
          fleet        http://127.0.0.1:8002/  (its load comes and goes)
          status page  http://127.0.0.1:8001/
          metrics      http://127.0.0.1:8001/metrics
          directory    /temp/demo: weir.toml, access.log, demo.log

        Nothing leaves this machine. The access log grows by 2 MB a minute. At the end
        of the demo, its processes and files go with it.
        ");
    }

    #[test]
    fn what_to_try_can_be_pasted() {
        insta::assert_snapshot!(to_try(&facts("/temp/demo"), true, Style::Plain), @r"
        Try, in another terminal: cd /temp/demo

          # Server c dies, and no request fails; then it is back, until Ctrl-C.
          kill -9 503
          ./weir origin --bind 127.0.0.1:9003 --name c --service-ms 60 --concurrency 8

          # Server b finishes its requests and gets no new ones; then it is back.
          ./weir ctl --socket control.sock drain web/b
          ./weir ctl --socket control.sock ready web/b

          # What a request would get, and why; how many servers the fleet has, and why.
          ./weir explain weir.toml --url http://127.0.0.1:8000/
          ./weir fleet explain --socket control.sock

          # Files: an upload through the balancer, read from one of the storage nodes.
          curl -T /etc/hostname http://127.0.0.1:8000/data/
          curl http://127.0.0.1:9102/data/hostname

          # Another config. A config with a mistake changes nothing.
          ${EDITOR:-vi} weir.toml; ./weir ctl --socket control.sock reload
        ");
    }

    #[test]
    fn the_panel_of_the_live_view_has_the_first_commands_to_try() {
        insta::assert_snapshot!(panel(&facts("/temp/demo"), true).join("\n"), @r"
        In another terminal: cd /temp/demo  (q: more commands)
          kill -9 503                                   server c dies, no request fails
          ./weir ctl --socket control.sock drain web/b  server b finishes its requests
          site http://127.0.0.1:8000/ and /data/, status page http://127.0.0.1:8001/
        ");
    }

    #[test]
    fn no_line_is_wider_than_80_columns_and_the_commands_fit_24_lines() {
        let facts = long_facts();
        let commands = to_try(&facts, true, Style::Plain);
        let all =
            [introduction(&facts, 2_000, Style::Plain), commands.clone(), panel(&facts, true).join("\n")];
        for line in all.iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        }
        // Three more lines follow: a blank one, the prompt to continue, and the cursor.
        assert!(commands.lines().count() + 3 <= 24, "{commands}");
    }

    #[test]
    fn a_dead_server_is_not_to_be_killed_again() {
        let text = to_try(&facts("/temp/demo"), false, Style::Plain);
        assert!(!text.contains("kill -9") && text.contains("# Server c is back"), "{text}");
        assert!(!panel(&facts("/temp/demo"), false).concat().contains("kill"));
    }

    #[test]
    fn odd_paths_are_quoted_for_the_shell() {
        let text = to_try(&facts("/my temp/it's"), true, Style::Plain);
        assert!(text.contains("cd '/my temp/it'\\''s'\n"), "{text}");
    }
}
