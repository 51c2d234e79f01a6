//! `weir storage unlock`: breaks WebDAV locks of a running Weir's storage areas.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use weir_admin::ControlClient;
use weir_control::{Answer, Command, LockSnapshot};
use weir_model::Name;

use crate::check::print_out;
use crate::ctl::SOCKET;
use crate::ctl::table::{Align, Style, Table};

/// Break WebDAV locks, whoever holds them
///
/// Tells a running Weir to do so, and prints the locks. What their holders have written stays; their further writes are judged
/// as if they had no lock. Exits with 0 if there were such locks, with 1 if there were none, and with 2 if that could not be
/// done.
#[derive(Debug, Args)]
pub(super) struct UnlockArgs {
    /// The control socket.
    #[arg(long, env = "WEIR_CONTROL", default_value = SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// The storage area, where several have the path.
    #[arg(long, value_name = "NAME", value_parser = name)]
    area: Option<Name>,
    /// Also break locks of what is below the path.
    #[arg(long)]
    below: bool,
    /// Only break locks of this holder, as --dry-run prints it: "user ada" for example.
    #[arg(long, value_name = "HOLDER")]
    holder: Option<String>,
    /// Print which locks would be broken, and break none.
    #[arg(long)]
    dry_run: bool,
    /// Print for programs.
    #[arg(long)]
    json: bool,
    /// The URL of the locked resource, or its path alone.
    url: String,
}

pub(super) fn run(args: &UnlockArgs) -> ExitCode {
    let command = Command::StorageUnlock {
        area: args.area.clone(),
        path: super::path_of(&args.url).to_owned(),
        below: args.below,
        holder: args.holder.clone(),
        dry_run: args.dry_run,
    };
    let answer = ControlClient::connect(&args.socket).and_then(|mut client| client.send(&command));
    let locks = match answer {
        Ok(Answer::Locks { locks }) => locks,
        Ok(_) => {
            return super::fail("the running Weir gave an answer of another kind: is it an older version?");
        }
        Err(error) => return super::fail(&error.to_string()),
    };
    let text = if args.json {
        match serde_json::to_string_pretty(&locks) {
            Ok(json) => format!("{json}\n"),
            Err(error) => return super::fail(&error.to_string()),
        }
    } else if locks.is_empty() {
        "there are no such locks\n".to_owned()
    } else {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        table(&locks, now_s, Style::of(io::stdout().is_terminal()))
    };
    let printed = print_out(&text);
    if !locks.is_empty() || printed != ExitCode::SUCCESS { printed } else { ExitCode::from(1) }
}

fn name(text: &str) -> Result<Name, String> {
    Name::new(text).map_err(|cause| cause.to_string())
}

fn table(locks: &[LockSnapshot], now_s: u64, style: Style) -> String {
    const COLUMNS: [(&str, Align); 6] = [
        ("AREA", Align::Left),
        ("PATH", Align::Left),
        ("HOLDER", Align::Left),
        ("SCOPE", Align::Left),
        ("DEPTH", Align::Left),
        ("ENDS IN", Align::Right),
    ];
    let mut table = Table::new(&COLUMNS);
    for lock in locks {
        table.row(vec![
            lock.area.as_str().into(),
            lock.path.as_str().into(),
            lock.holder.escape_debug().to_string().into(),
            if lock.exclusive { "exclusive" } else { "shared" }.into(),
            if lock.infinite { "infinity" } else { "0" }.into(),
            format!("{} s", lock.ends_unix_s.saturating_sub(now_s)).into(),
        ]);
    }
    table.render("", style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_listed_with_their_holders_and_what_is_left_of_them() {
        let lock = LockSnapshot {
            area: "data".to_owned(),
            path: "/data/reports/".to_owned(),
            holder: "user ada".to_owned(),
            exclusive: true,
            infinite: true,
            ends_unix_s: 1_060,
        };
        let other = LockSnapshot {
            path: "/data/reports/a%20b.txt".to_owned(),
            holder: "token https://iam.example.org/ \u{1b}".to_owned(),
            exclusive: false,
            infinite: false,
            ..lock.clone()
        };
        insta::assert_snapshot!(table(&[lock, other], 1_000, Style::Plain), @r"
        AREA  PATH                     HOLDER                                 SCOPE      DEPTH     ENDS IN
        data  /data/reports/           user ada                               exclusive  infinity     60 s
        data  /data/reports/a%20b.txt  token https://iam.example.org/ \u{1b}  shared     0            60 s
        ");
    }
}
