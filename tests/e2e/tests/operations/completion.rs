//! Tests of command-line completion in the real shells.

use std::path::Path;
use std::process::Command;

use weir_e2e::Terminal;
use weir_testkit::{TempDir, untested};

fn script(shell: &str) -> String {
    let output = Command::new(weir_e2e::program()).args(["completion", shell]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Starts a shell in a terminal, without the user's startup files.
fn interactive(shell: &str, options: &[&str], home: &Path) -> Terminal {
    let mut command = Command::new(shell);
    command.args(options).env("HOME", home).env("PS1", "ready> ").env("HISTFILE", "/dev/null");
    Terminal::start(command)
}

/// Typed text, and the text that the Tab key adds.
const VERBS_AND_VALUES: [(&str, &str); 4] = [
    ("weir compl", "etion"),
    ("weir ctl mainte", "nance"),
    ("weir top --inter", "val"),
    ("weir completion fi", "sh"),
];

/// Types each line, presses Tab, and waits for the added text.
fn complete(terminal: &mut Terminal, lines: &[(&str, &str)]) {
    for (typed, completed) in lines {
        terminal.press(typed);
        terminal.wait_for(typed);
        terminal.press("\t");
        terminal.wait_for(completed);
        // Ctrl-U clears the line.
        terminal.press("\u{15}");
    }
}

#[test]
fn bash_completes_verbs_options_values_and_files() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("weir.bash");
    std::fs::write(&path, script("bash")).unwrap();
    std::fs::write(directory.path().join("only-config.toml"), "").unwrap();
    let mut bash = interactive("bash", &["--noprofile", "--norc", "-i"], directory.path());
    bash.wait_for("ready> ");
    bash.press(&format!("cd {}; source {}\n", directory.path().display(), path.display()));
    bash.wait_for("ready> ");
    complete(&mut bash, &VERBS_AND_VALUES);
    complete(&mut bash, &[("weir check only-", "config.toml"), ("weir ctl --socket only-", "config.toml")]);
    bash.press("exit\n");
    assert!(bash.process.wait().unwrap().success());
}

#[test]
fn bash_offers_no_verb_that_help_hides() {
    let list = "COMP_WORDS=(weir ''); COMP_CWORD=1; _weir weir '' weir; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--norc", "-c", &format!("{}\n{list}", script("bash"))]);
    let output = bash.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let offered = String::from_utf8(output.stdout).unwrap();
    let offers = |verb: &str| offered.lines().any(|line| line == verb);
    assert!(["run", "check", "demo", "completion"].iter().all(|verb| offers(verb)), "{offered}");
    assert!(!["start", "restart", "origin"].iter().any(|verb| offers(verb)), "{offered}");
}

#[test]
fn zsh_completes_verbs_options_and_values() {
    if Command::new("zsh").arg("--version").output().is_err() {
        return untested("zsh is not installed");
    }
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("_weir"), script("zsh")).unwrap();
    let mut zsh = interactive("zsh", &["--no-rcs", "-i"], directory.path());
    zsh.wait_for("ready> ");
    let setup = format!(
        "fpath=({} $fpath); autoload -Uz compinit; compinit -u -D; echo are they",
        directory.path().display()
    );
    zsh.press(&format!("{setup}\n"));
    zsh.wait_for("\nare they");
    zsh.wait_for("ready> ");
    complete(&mut zsh, &VERBS_AND_VALUES);
    zsh.press("exit\n");
    assert!(zsh.process.wait().unwrap().success());
}

#[test]
fn fish_completes_verbs_and_options_and_no_hidden_ones() {
    if Command::new("fish").arg("--version").output().is_err() {
        return untested("fish is not installed");
    }
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("weir.fish");
    std::fs::write(&path, script("fish")).unwrap();
    let completed = |line: &str| -> Vec<String> {
        let script = format!("source {}; complete -C{line:?}", path.display());
        let mut fish = Command::new("fish");
        // Fish stores files in the home directory.
        fish.args(["--no-config", "-c", &script]).current_dir(directory.path()).env("HOME", directory.path());
        let output = fish.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        said.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    };
    assert_eq!(completed("weir compl"), ["completion"]);
    assert_eq!(completed("weir ctl mainte"), ["maintenance"]);
    assert_eq!(completed("weir top --inter"), ["--interval"]);
    assert!(!completed("weir st").contains(&"start".to_owned()));
}
