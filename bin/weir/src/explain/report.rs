//! Prints the result of `weir explain`.

use std::fmt::Write;
use std::process::ExitCode;

use super::answer::{Answer, Outcome};
use super::server::{CandidateAnswer, KeyAnswer, PoolAnswer};
use crate::check::print_out;

pub(super) fn print(answer: &Answer, json: bool) -> ExitCode {
    let text = match json {
        false => text(answer),
        true => match serde_json::to_string_pretty(answer) {
            Ok(text) => text + "\n",
            Err(cause) => {
                eprintln!("weir explain: {cause}");
                return ExitCode::from(2);
            }
        },
    };
    match print_out(&text) {
        code if code != ExitCode::SUCCESS => code,
        _ if answer.is_taken() => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    }
}

/// Returns the result as aligned lines, one topic each.
pub(super) fn text(answer: &Answer) -> String {
    let mut out = Lines::default();
    if let Some(listener) = &answer.listener {
        out.line("listener", &format!("{} ({})", listener.name, listener.bind.join(", ")));
        if !listener.others.is_empty() {
            out.more(&format!("it could be {} as well: choose with --listener", listener.others.join(", ")));
        }
    }
    if let Some(client) = &answer.client {
        out.line("client", client);
    }
    if let Some(path) = &answer.path {
        out.line("path", &format!("{}, as rules compare it", path.compared));
        out.more(&format!("{}, as it was sent", path.sent));
        out.more(&format!("{}, as a server gets it", path.forwarded));
    }
    for passed in &answer.passed_over {
        out.line("not", &format!("{}: {}", placed(&passed.route, &passed.origin), passed.reason));
    }
    if let Some(route) = &answer.route {
        out.line("route", &placed(&route.name, &route.origin));
        match route.because.as_slice() {
            [] => out.more("it takes everything"),
            reasons => reasons.iter().for_each(|reason| out.more(reason)),
        }
    }
    match &answer.outcome {
        Outcome::Pool(pool) => pool_lines(&mut out, pool),
        Outcome::Storage { area } => out.line("storage", area),
        Outcome::Redirect { status, location } => out.line("redirect", &format!("{status} to {location}")),
        Outcome::Respond { status } => out.line("respond", &status.to_string()),
        Outcome::Refused { status, reason } => out.line("refused", &format!("{status}: {reason}")),
        Outcome::Nobody { reason } => out.line("nobody", reason),
    }
    if let Some(request) = &answer.request {
        let mut lines = request.lines();
        out.line("request", lines.next().unwrap_or(""));
        lines.for_each(|line| out.more(line));
    }
    out.text
}

fn pool_lines(out: &mut Lines, pool: &PoolAnswer) {
    out.line("pool", &format!("{}, {}", pool.name, pool.algorithm));
    if let Some(sent_on) = &pool.sent_on {
        out.line("sent on", sent_on);
    }
    for (index, line) in pool.offloads.iter().enumerate() {
        out.line(if index == 0 { "offload" } else { "" }, line);
    }
    if let Some(sticky) = &pool.sticky {
        out.line("sticky", &sticky.finding);
        if let Some(server) = &sticky.server {
            out.line("server", server);
            return out.more("the client stays with it while it is up, be it drained or not");
        }
    }
    match (&pool.server, pool.candidates.as_slice()) {
        (_, []) => out.line("server", "none: 503 until one is added"),
        (Some(server), [only]) if only.name == *server => out.line("server", &named(only)),
        (Some(server), candidates) => {
            let chosen = candidates.iter().find(|candidate| candidate.name == *server);
            out.line("server", &chosen.map_or_else(|| server.clone(), named));
            out.more(&format!("{}, while all {} are up", reason(pool), candidates.len()));
        }
        (None, candidates) => {
            out.line("server", &format!("one of {}", listed(candidates)));
            if let Some(KeyAnswer { name, hash: None, .. }) = &pool.key {
                out.more(&format!("in turn: the request has no {name}"));
            }
            out.more(pool.rule);
        }
    }
    if !pool.backups.is_empty() {
        out.more(&format!("if none of these can: {}", listed(&pool.backups)));
    }
}

/// Describes why this server was chosen.
fn reason(pool: &PoolAnswer) -> String {
    match &pool.key {
        Some(KeyAnswer { name, hash: Some(hash), is_source: false }) => {
            format!("by its {name} (hash {hash})")
        }
        _ => "by the client's address".to_owned(),
    }
}

fn listed(candidates: &[CandidateAnswer]) -> String {
    const LISTED_MAX: usize = 10;
    let names: Vec<_> = candidates.iter().take(LISTED_MAX).map(named).collect();
    match candidates.len().saturating_sub(LISTED_MAX) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

fn named(candidate: &CandidateAnswer) -> String {
    let address =
        if candidate.name == candidate.address { String::new() } else { format!("{}, ", candidate.address) };
    format!("{} ({address}weight {})", candidate.name, candidate.weight)
}

fn placed(name: &str, origin: &str) -> String {
    if origin.is_empty() { name.to_owned() } else { format!("{name} ({origin})") }
}

#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    fn line(&mut self, topic: &str, text: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{topic:<10}{text}");
    }

    fn more(&mut self, text: &str) {
        self.line("", text);
    }
}
