//! The sets of rules to compare. Policies of the command line are written as the text of a rules file and
//! parsed in the same way.

use std::collections::BTreeSet;
use std::fs;

use weir_config::Source;
use weir_config::scaling::{self, NamedRules};
use weir_model::Name;

use super::BacktestArgs;
use crate::check::print_diagnostics;

/// Returns all sets of rules in the order of the arguments.
pub(super) fn of(args: &BacktestArgs) -> Result<Vec<NamedRules>, String> {
    let mut all = Vec::new();
    let by_default = args.policies.is_empty() && args.rules.is_none();
    let named = args.policies.iter().map(String::as_str);
    for policy in named.chain(["published", "target"].into_iter().filter(|_| by_default)) {
        all.extend(one(args, policy, all.len())?);
    }
    if let Some(path) = &args.rules {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|cause| format!("{name}: {cause}"))?;
        all.extend(load(&name, text)?);
    }
    let mut names = BTreeSet::new();
    match all.iter().find(|rules| !names.insert(rules.name.clone())) {
        Some(twice) => Err(format!("{} is there twice: NAME=VALUE gives a policy another name", twice.name)),
        None => Ok(all),
    }
}

fn one(args: &BacktestArgs, policy: &str, before: usize) -> Result<Vec<NamedRules>, String> {
    let labelled =
        policy.split_once('=').and_then(|(name, value)| Some((Name::new(name.trim()).ok()?, value)));
    let (name, value) = match labelled {
        Some((name, value)) => (name.to_string(), value.trim()),
        None if policy.trim_start().starts_with(['{', '[']) => (format!("policy-{}", before + 1), policy),
        None => (policy.to_owned(), policy),
    };
    let (value, standby) = match value {
        "published" => ("reactive", Some(1)),
        value => (value, args.standby),
    };
    let standby = standby.map_or(String::new(), |standby| format!("standby = {standby}\n"));
    // Quotes a text that is not a TOML value of its own.
    let value = match value.starts_with(['{', '[', '"']) {
        true => value.to_owned(),
        false => format!("{value:?}"),
    };
    if Name::new(&name).is_err() {
        return Err(format!("--policy {policy}: a name, or NAME=VALUE"));
    }
    let millis = |seconds: f64| (seconds * 1_000.0).round().max(100.0);
    let text = format!(
        "[rules.{name:?}]\npolicy = {value}\nmin = {}\nmax = {}\n{standby}capacity = {:?}\nstart-up = \"{}ms\"\nwake-up = \"{}ms\"\n",
        args.min,
        args.max,
        args.capacity,
        millis(args.start_up.seconds()),
        millis(args.wake_up.seconds()),
    );
    load(&format!("--policy {name}"), text)
}

fn load(name: &str, text: String) -> Result<Vec<NamedRules>, String> {
    let source = Source::new(name, text);
    scaling::load(&source, &|name| std::env::var(name).ok()).map_err(|diagnostics| {
        print_diagnostics(&diagnostics);
        format!("{name}: the rules are wrong")
    })
}
