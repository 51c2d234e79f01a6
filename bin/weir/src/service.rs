//! Verbs of service managers, which people try: they are answered with the command that does it.

use std::ffi::OsString;
use std::process::ExitCode;

/// Ignored arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<OsString>,
}

/// Says what does it. Exits with 2.
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
