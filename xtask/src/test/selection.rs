//! Selects the packages of a `cargo test` and the features that they need.

use super::{FEATURES, LONG};

/// Returns the arguments that select packages and features. Selects the whole workspace, unless the command
/// line names packages (`-p`), which `--workspace` would override. Cargo refuses a feature of a package that
/// is not selected.
pub(super) fn of(arguments: &[String]) -> Vec<String> {
    match packages(arguments) {
        named if named.is_empty() => workspace(false),
        named => {
            let features = FEATURES.split(',').filter(|feature| {
                feature.split_once('/').is_some_and(|(package, _)| named.contains(&package))
            });
            features.flat_map(|feature| ["--features".to_owned(), feature.to_owned()]).collect()
        }
    }
}

/// Returns the arguments for the whole workspace with the features of its tests. `long` adds the tests that
/// take minutes.
pub(crate) fn workspace(long: bool) -> Vec<String> {
    let features = if long { format!("{FEATURES},{LONG}") } else { FEATURES.to_owned() };
    vec!["--workspace".to_owned(), "--features".to_owned(), features]
}

/// Returns the packages that Cargo's own options name, before `--`.
fn packages(arguments: &[String]) -> Vec<&str> {
    let mut words = arguments.iter().map(String::as_str).take_while(|word| *word != "--");
    let mut named = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "-p" | "--package" => named.extend(words.next()),
            _ => named.extend(word.strip_prefix("--package=").or_else(|| word.strip_prefix("-p"))),
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(line: &str) -> String {
        let arguments: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        of(&arguments).join(" ")
    }

    #[test]
    fn packages_that_are_named_are_not_overridden_by_the_whole_workspace() {
        assert_eq!(selection("-p weir-http --lib"), "");
        assert_eq!(selection("--package=weir"), "--features weir/kubernetes");
        assert_eq!(selection("-pweir-e2e -- drain"), "--features weir-e2e/kubernetes");
        assert_eq!(
            selection("--package weir -p weir-e2e"),
            "--features weir/kubernetes --features weir-e2e/kubernetes"
        );
    }

    #[test]
    fn without_a_package_it_is_the_whole_workspace() {
        let whole = format!("--workspace --features {FEATURES}");
        assert_eq!(selection("--test storage -- rclone"), whole);
        assert_eq!(selection("-- -p"), whole, "what is behind -- is for the test programs");
    }
}
