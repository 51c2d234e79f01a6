//! `weir completion`: prints the script with which a shell completes verbs, options and their values.

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::{Shell as Generator, generate};

use crate::check::print_out;

/// Print the script by which a shell completes the words of `weir`
///
/// The Debian package installs the scripts of all three. Elsewhere: `weir completion bash >
/// ~/.local/share/bash-completion/completions/weir` (with the package bash-completion; else `source <(weir
/// completion bash)` in ~/.bashrc), `weir completion zsh > DIRECTORY/_weir` with a directory of $fpath, `weir
/// completion fish > ~/.config/fish/completions/weir.fish`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionArgs {
    /// The shell.
    shell: Shell,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Runs the verb. `Cli` is the whole command line.
pub(crate) fn run<Cli: CommandFactory>(args: &CompletionArgs) -> ExitCode {
    let shell = match args.shell {
        Shell::Bash => Generator::Bash,
        Shell::Zsh => Generator::Zsh,
        Shell::Fish => Generator::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut outline(&Cli::command()).propagate_version(true), "weir", &mut script);
    print_out(&String::from_utf8_lossy(&script))
}

/// Copies the command without hidden verbs and options, which the script generators would include.
fn outline(command: &Command) -> Command {
    let mut outline = Command::new(forever(command.get_name())).disable_help_subcommand(true);
    if let Some(about) = command.get_about() {
        outline = outline.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        outline = outline.version(forever(version));
    }
    let arguments = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    outline.args(arguments.map(without_relations)).subcommands(verbs.map(self::outline))
}

/// Copies an argument without its relations to others, some of which are hidden.
fn without_relations(argument: &Arg) -> Arg {
    let mut outline = Arg::new(argument.get_id().clone()).action(argument.get_action().clone());
    if let Some(letter) = argument.get_short() {
        outline = outline.short(letter);
    }
    if let Some(name) = argument.get_long() {
        outline = outline.long(forever(name));
    }
    if let Some(help) = argument.get_help() {
        outline = outline.help(help.clone());
    }
    if let Some(names) = argument.get_value_names() {
        outline = outline.value_names(names.to_vec());
    }
    if argument.get_action().takes_values() {
        outline = outline
            .value_hint(argument.get_value_hint())
            .require_equals(argument.is_require_equals_set())
            .last(argument.is_last_set());
        if let Some(count) = argument.get_num_args() {
            outline = outline.num_args(count);
        }
        let values = argument.get_possible_values();
        if !values.is_empty() {
            outline = outline.value_parser(PossibleValuesParser::new(values));
        }
    }
    outline
}

/// Leaks the text, because clap requires names with static lifetime. The process ends once the script is
/// printed.
fn forever(text: &str) -> &'static str {
    text.to_owned().leak()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_verbs_and_options_are_not_completed() {
        let outline = outline(&crate::Cli::command());
        let verbs: Vec<_> = outline.get_subcommands().map(Command::get_name).collect();
        assert!(verbs.contains(&"run") && verbs.contains(&"completion"), "{verbs:?}");
        assert!(!verbs.contains(&"origin") && !verbs.contains(&"restart"), "{verbs:?}");
        let demo = outline.find_subcommand("demo").unwrap();
        let options: Vec<_> = demo.get_arguments().filter_map(Arg::get_long).collect();
        assert_eq!(options, ["once", "kill-one", "rate"]);
    }
}
