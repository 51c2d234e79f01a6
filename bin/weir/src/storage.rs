//! `weir storage`: explains access to storage areas, shows their usage and transfers, and breaks their locks.

mod transfers;
mod unlock;
mod usage;

use std::io::Read;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use weir_gateway::{Certificate, Explained, MembersExplained, Who, explain};

use crate::check::{self, CONFIG, print_diagnostics, print_out};

/// Ask about storage areas, and break their locks
#[derive(Debug, Args)]
pub(crate) struct StorageArgs {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Subcommand)]
enum Question {
    Explain(Box<ExplainArgs>),
    Transfers(transfers::TransfersArgs),
    Unlock(unlock::UnlockArgs),
    Usage(usage::UsageArgs),
}

/// Say who may do what, and by which rule
///
/// Exits with 0 if the request would be allowed, with 1 if it would be denied, and with 2 if that cannot be
/// said.
#[derive(Debug, Args)]
struct ExplainArgs {
    /// Who asks: anonymous, user:NAME, certificate:SUBJECT, a bearer token, @FILE with a token in it, or -
    /// for one on standard input.
    #[arg(long = "as", value_name = "WHO", default_value = "anonymous", allow_hyphen_values = true)]
    who: String,
    /// Who has issued the certificate, where files of vo-maps ask for it; without it, the one that the files
    /// want.
    #[arg(long, value_name = "NAME")]
    issuer: Option<String>,
    /// The organisation that VOMS says the certificate belongs to.
    #[arg(long, value_name = "NAME")]
    vo: Option<String>,
    /// A group or role in it, /cms/Role=production for example; may be repeated.
    #[arg(long = "fqan", value_name = "FQAN", requires = "vo")]
    fqans: Vec<String>,
    /// The config: a file, or a directory.
    #[arg(long, short, default_value = CONFIG, value_name = "CONFIG")]
    config: PathBuf,
    /// The storage area, where several have the path.
    #[arg(long, value_name = "NAME")]
    area: Option<String>,
    /// Where to, for COPY and MOVE: a URL, or its path alone.
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Where from, for a COPY that fetches a file from another server: its URL there.
    #[arg(long, value_name = "URL", conflicts_with = "to")]
    source: Option<String>,
    /// Ask about a directory itself and not about what is in it, as Depth: 0 does.
    #[arg(long)]
    shallow: bool,
    /// From which address, for Cedar policies that ask for it.
    #[arg(long, value_name = "ADDRESS")]
    from: Option<IpAddr>,
    /// Print for programs.
    #[arg(long)]
    json: bool,
    /// The method, e.g. GET.
    method: String,
    /// The URL, or its path alone.
    url: String,
}

/// Runs the verb.
pub(crate) fn run(args: &StorageArgs) -> ExitCode {
    match &args.question {
        Question::Explain(args) => run_explain(args),
        Question::Transfers(args) => transfers::run(args),
        Question::Unlock(args) => unlock::run(args),
        Question::Usage(args) => usage::run(args),
    }
}

fn run_explain(args: &ExplainArgs) -> ExitCode {
    let loaded = match check::load(&args.config) {
        Ok(loaded) => loaded,
        Err(check::Refusal::Unreadable(error)) => return fail(&error.to_string()),
        Err(check::Refusal::Wrong(problems)) => {
            print_diagnostics(&problems);
            return ExitCode::from(2);
        }
    };
    let explained = who(args).and_then(|who| {
        let question = weir_gateway::Question {
            area: args.area.as_deref(),
            who,
            method: &args.method,
            path: path_of(&args.url),
            destination: args.to.as_deref().map(path_of),
            from_elsewhere: args.source.as_deref(),
            shallow: args.shallow,
            client: args.from,
        };
        explain(&loaded.plan, question)
    });
    match explained {
        Ok(explained) => print(args, &explained),
        Err(error) => fail(&error),
    }
}

fn print(args: &ExplainArgs, explained: &Explained) -> ExitCode {
    let Explained { area, allowed, reasons, members } = explained;
    let text = match args.json {
        true => {
            let mut answer = json!({ "area": area, "allowed": allowed, "reasons": reasons });
            if let Some(MembersExplained { judged, denied, all_needed, reasons }) = members {
                answer["members"] = json!({ "judged": judged, "denied": denied, "all-needed": all_needed, "reasons": reasons });
            }
            format!("{answer:#}\n")
        }
        false => {
            let verdict = if *allowed { "allowed" } else { "denied" };
            let members = members.as_ref().map(of_members).unwrap_or_default();
            format!("{verdict} in storage area {area}\n\n{}\n{members}", reasons.join("\n\n"))
        }
    };
    let printed = print_out(&text);
    if *allowed || printed != ExitCode::SUCCESS { printed } else { ExitCode::from(1) }
}

/// Describes the decisions about members of the directories that a request affects, with the reasons of
/// denials.
fn of_members(members: &MembersExplained) -> String {
    let MembersExplained { judged, denied, all_needed, reasons } = members;
    let effect = match (denied, all_needed) {
        (0, _) => "all of them allowed",
        (_, true) => "so that nothing is done",
        (_, false) => "which are left out of the answer",
    };
    let denials = if *denied == 0 { String::new() } else { format!(", {denied} denied") };
    let mut text = format!("\nmembers: {judged} asked about{denials}, {effect}\n");
    for reason in reasons {
        text.push_str(&format!("\n{reason}\n"));
    }
    text
}

fn who(args: &ExplainArgs) -> Result<Who, String> {
    let text = args.who.as_str();
    let token = |text: String| Who::Token(text.trim().to_owned());
    if let Some(subject) = text.strip_prefix("certificate:") {
        return Ok(Who::Certificate(Certificate {
            subject: subject.to_owned(),
            issuer: args.issuer.clone(),
            vo: args.vo.clone(),
            fqans: args.fqans.clone(),
        }));
    }
    if args.issuer.is_some() || args.vo.is_some() {
        return Err("--issuer, --vo and --fqan are about a certificate: --as certificate:SUBJECT".to_owned());
    }
    if let Some(user) = text.strip_prefix("user:") {
        return Ok(Who::User(user.to_owned()));
    }
    match (text, text.strip_prefix('@')) {
        ("anonymous", _) => Ok(Who::Anonymous),
        ("-", _) => {
            let mut read = String::new();
            std::io::stdin().read_to_string(&mut read).map_err(|cause| format!("standard input: {cause}"))?;
            Ok(token(read))
        }
        (_, Some(file)) => {
            let read = std::fs::read_to_string(file).map_err(|cause| format!("{file}: {cause}"))?;
            Ok(token(read))
        }
        _ => Ok(token(text.to_owned())),
    }
}

/// Returns the path of a URL.
fn path_of(url: &str) -> &str {
    let path = match url.split_once("://") {
        None => url,
        Some((_, rest)) => rest.find('/').map_or("/", |slash| &rest[slash..]),
    };
    path.split(['?', '#']).next().unwrap_or(path)
}

fn fail(error: &str) -> ExitCode {
    eprintln!("weir storage: {error}");
    ExitCode::from(2)
}
