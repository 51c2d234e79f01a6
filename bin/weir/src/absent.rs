//! Stands in for verbs that this build lacks. They are listed and take any arguments, so that they can say
//! how to get them.

use std::ffi::OsString;
use std::process::ExitCode;

/// Not in this build; says how to get it
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct AbsentArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _ignored: Vec<OsString>,
}

#[cfg(not(feature = "lab"))]
pub(crate) mod lab {
    pub(crate) use super::AbsentArgs as LabArgs;

    pub(crate) fn run(_: &LabArgs) -> super::ExitCode {
        super::refuse("lab", "lab")
    }
}

#[cfg(not(feature = "lab"))]
pub(crate) mod load {
    pub(crate) use super::AbsentArgs as LoadArgs;

    pub(crate) fn run(_: &LoadArgs) -> super::ExitCode {
        super::refuse("load", "lab")
    }
}

#[cfg(not(feature = "lab"))]
pub(crate) mod watch {
    pub(crate) use super::AbsentArgs as WatchArgs;

    pub(crate) fn run(_: &WatchArgs) -> super::ExitCode {
        super::refuse("watch", "lab")
    }
}

#[cfg(not(feature = "simulate"))]
pub(crate) mod simulate {
    pub(crate) use super::AbsentArgs as SimulateArgs;

    pub(crate) fn run(_: &SimulateArgs) -> super::ExitCode {
        super::refuse("simulate", "simulate")
    }
}

#[cfg(not(feature = "simulate"))]
pub(crate) mod backtest {
    pub(crate) use super::AbsentArgs as BacktestArgs;

    pub(crate) fn run(_: &BacktestArgs) -> super::ExitCode {
        super::refuse("fleet backtest", "simulate")
    }
}

fn refuse(verb: &str, feature: &str) -> ExitCode {
    eprintln!(
        "weir {verb}: this build of weir has no `{verb}`: build it with `make release`, or with the Cargo feature `{feature}`"
    );
    ExitCode::from(2)
}
