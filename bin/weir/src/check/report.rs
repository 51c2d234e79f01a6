//! Prints the results of `weir check`.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use weir_config::plan::Mode;
use weir_config::{Diagnostic, Loaded, Plan, Severity, print, render};

use super::Refusal;

/// Options for printing the result of a check.
pub(super) struct Report<'a> {
    pub(super) config: &'a Path,
    pub(super) plan: bool,
    /// True to print the secrets of the plan.
    pub(super) secrets: bool,
    pub(super) json: bool,
}

impl Report<'_> {
    pub(super) fn print(&self, proof: Result<Loaded, Refusal>) -> ExitCode {
        match proof {
            Ok(loaded) if self.json => self.print_json(true, Some(&self.shown(&loaded)), &loaded.warnings),
            Ok(loaded) => {
                print_diagnostics(&loaded.warnings);
                match self.plan {
                    true => print_out(&print(&self.shown(&loaded))),
                    false => print_out(&format!("{}: ok, {}\n", self.config.display(), counts(&loaded))),
                }
            }
            Err(Refusal::Wrong(diagnostics)) => {
                if self.json {
                    self.print_json(false, None, &diagnostics);
                } else {
                    print_diagnostics(&diagnostics);
                    let errors = diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
                    eprintln!("{}: {}", self.config.display(), number(errors, "error"));
                }
                ExitCode::from(1)
            }
            Err(Refusal::Unreadable(cause)) => {
                if self.json {
                    print_out(&format!("{:#}\n", json!({ "ok": false, "error": cause.to_string() })));
                } else {
                    eprintln!("weir check: {cause}");
                }
                ExitCode::from(2)
            }
        }
    }

    fn shown(&self, loaded: &Loaded) -> Plan {
        if self.secrets { loaded.plan.clone() } else { loaded.secrets().mask(&loaded.plan) }
    }

    fn print_json(&self, ok: bool, plan: Option<&Plan>, diagnostics: &[Diagnostic]) -> ExitCode {
        let mut report =
            json!({ "ok": ok, "config": self.config.to_string_lossy(), "diagnostics": diagnostics });
        if let (true, Some(plan)) = (self.plan, plan) {
            match serde_json::to_value(plan) {
                Ok(plan) => report["plan"] = plan,
                Err(cause) => {
                    eprintln!("weir check: the plan cannot be printed as JSON: {cause}");
                    return ExitCode::from(2);
                }
            }
        }
        print_out(&format!("{report:#}\n"))
    }
}

/// Prints to standard output. A closed pipe is not an error.
pub(crate) fn print_out(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("weir: standard output: {cause}");
            ExitCode::from(2)
        }
    }
}

/// Prints diagnostics to standard error, in color if that is a terminal and `NO_COLOR` is not set.
pub(crate) fn print_diagnostics(diagnostics: &[Diagnostic]) {
    let color =
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    for diagnostic in diagnostics {
        // Ignores errors: standard error may be closed.
        let _ = writeln!(io::stderr(), "{}\n", render(diagnostic, color));
    }
}

fn counts(loaded: &Loaded) -> String {
    let plan = &loaded.plan;
    let routes = |mode: &Mode| match mode {
        Mode::Http(http) => http.routes.len(),
        Mode::Tcp(tcp) => tcp.sni_routes.len() + usize::from(tcp.pool.is_some()),
    };
    let routes = plan.listeners.iter().map(|listener| routes(&listener.mode)).sum();
    let servers = plan.pools.iter().map(|pool| pool.servers.len()).sum();
    let mut counts = vec![
        number(plan.listeners.len(), "listener"),
        number(routes, "route"),
        number(plan.pools.len(), "pool"),
        number(servers, "server"),
    ];
    if !plan.fleets.is_empty() {
        counts.push(number(plan.fleets.len(), "fleet"));
    }
    if !plan.storage_areas.is_empty() {
        counts.push(number(plan.storage_areas.len(), "storage area"));
    }
    if !loaded.warnings.is_empty() {
        counts.push(number(loaded.warnings.len(), "warning"));
    }
    counts.join(", ")
}

fn number(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
