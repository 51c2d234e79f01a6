//! `weir explain`: says which listener, route, pool and server a request would get, and why.

mod answer;
mod http;
mod question;
mod report;
mod server;
mod sticky;
mod tcp;

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use weir_config::{Plan, Secrets};

use crate::check::{self, CONFIG, Refusal, print_diagnostics};
use answer::Answer;
use question::Question;

/// Say which listener, route, pool and server a request would get, and why
///
/// Nothing is sent: the config is read and the request is matched as a running Weir would. Exits with 0 if
/// something takes the request, with 1 if nothing does (it is answered 400 or 404, or no listener accepts
/// it), and with 2 if config or request cannot be understood.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The file, or a directory whose *.toml files are taken together in the order of their names.
    #[arg(default_value = CONFIG, value_name = "CONFIG")]
    config: PathBuf,
    /// URL of the request: http://host/path, https://host:8443/path, or tcp://host:port for listeners that
    /// speak TCP.
    #[arg(long, value_name = "URL")]
    url: String,
    /// The method.
    #[arg(long, short = 'X', default_value = "GET", value_name = "METHOD")]
    method: String,
    /// A header line; may be given several times. `Host` replaces that of the URL.
    #[arg(long, short = 'H', value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// Whom the connection comes from.
    #[arg(long, default_value = "127.0.0.1", value_name = "IP")]
    client: IpAddr,
    /// The listener, where its port alone does not tell.
    #[arg(long, value_name = "NAME")]
    listener: Option<String>,
    /// Print for programs.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: ExplainArgs) -> ExitCode {
    let loaded = match check::load(&args.config) {
        Ok(loaded) => loaded,
        Err(Refusal::Unreadable(cause)) => return complain(&cause.to_string()),
        Err(Refusal::Wrong(diagnostics)) => {
            print_diagnostics(&diagnostics);
            return complain(&format!("{}: the config is wrong", args.config.display()));
        }
    };
    match Question::new(&args.url, &args.method, &args.header, args.client) {
        Ok(question) => {
            let answer = answer(&loaded.plan, &loaded.secrets(), &question, args.listener.as_deref());
            report::print(&answer, args.json)
        }
        Err(message) => complain(&message),
    }
}

fn complain(message: &str) -> ExitCode {
    eprintln!("weir explain: {message}");
    ExitCode::from(2)
}

/// Returns how a plan handles a request, with the plan's `secrets` masked.
fn answer(plan: &Plan, secrets: &Secrets, question: &Question, listener: Option<&str>) -> Answer {
    let accepting = question.accepting(plan, listener);
    let Some((first, others)) = accepting.split_first() else {
        return Answer::nobody_accepts(plan, question, listener);
    };
    let mut answer = Answer::of_listener(first, others);
    match &first.mode {
        weir_config::plan::Mode::Http(http) => {
            http::explain(plan, secrets, (first, http), question, &mut answer)
        }
        weir_config::plan::Mode::Tcp(tcp) => tcp::explain(plan, tcp, question, &mut answer),
    }
    answer
}

#[cfg(test)]
mod tests;
