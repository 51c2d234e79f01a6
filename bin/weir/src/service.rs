//! Answers verbs of service managers, which Weir does not have, with the command to use instead.

use std::ffi::OsString;
use std::process::ExitCode;

/// Ignored arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<OsString>,
}

/// Prints the command to use instead. Exits with 2.
pub(crate) fn hint(verb: &str) -> ExitCode {
    let instead = match verb {
        "start" => "`weir run CONFIG` runs it in the foreground",
        "stop" => "SIGTERM drains and ends it: kill PID",
        "reload" => "`weir check CONFIG && weir ctl reload` reads the config again, and so does SIGHUP",
        "restart" => "most changes need none: `weir ctl reload`",
        _ => "`weir ctl show` tells how it stands, `weir top` goes on telling",
    };
    eprintln!("weir: there is no `weir {verb}`: {instead}; under systemd: systemctl {verb} weir");
    ExitCode::from(2)
}
