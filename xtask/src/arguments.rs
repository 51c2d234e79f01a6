//! Takes words and options from the command line.

use std::collections::VecDeque;

/// Command-line arguments after the program's name. Words are taken from the front, options from anywhere.
#[derive(Debug)]
pub(crate) struct Arguments(VecDeque<String>);

impl Arguments {
    /// Takes the arguments of this process. Bytes that are not UTF-8 become replacement characters, because
    /// no valid argument has any.
    pub(crate) fn from_process() -> Self {
        Self(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect())
    }

    /// Takes `words` as the arguments.
    #[cfg(test)]
    pub(crate) fn of(words: &[&str]) -> Self {
        Self(words.iter().map(|&word| word.to_owned()).collect())
    }

    /// Takes the first word that is left.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.0.pop_front()
    }

    /// Takes `--name VALUE` or `--name=VALUE` and returns the value.
    ///
    /// # Errors
    /// If the option is last and has no value.
    pub(crate) fn option(&mut self, name: &str) -> Result<Option<String>, String> {
        for at in 0..self.0.len() {
            if let Some(value) = self.0[at].strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
                let value = value.to_owned();
                self.0.remove(at);
                return Ok(Some(value));
            }
            if self.0[at] == name {
                self.0.remove(at);
                return self.0.remove(at).map(Some).ok_or_else(|| format!("{name} wants a value"));
            }
        }
        Ok(None)
    }

    /// Takes `--name` and returns whether it was given.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let at = self.0.iter().position(|word| word == name);
        at.and_then(|at| self.0.remove(at)).is_some()
    }

    /// Returns all words that are left.
    pub(crate) fn rest(self) -> Vec<String> {
        self.0.into()
    }

    /// Checks that no argument is left.
    ///
    /// # Errors
    /// If an argument is left that the command does not know.
    pub(crate) fn finish(self) -> Result<(), String> {
        match self.0.front() {
            None => Ok(()),
            Some(word) => {
                Err(format!("unknown argument {word:?}: `cargo xtask help` lists those of each command"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_found_anywhere_and_in_both_spellings() {
        let mut arguments = Arguments::of(&["head", "--seconds", "3", "--out=dist", "body"]);
        assert_eq!(arguments.option("--seconds"), Ok(Some("3".to_owned())));
        assert_eq!(arguments.option("--out"), Ok(Some("dist".to_owned())));
        assert_eq!(arguments.option("--binary"), Ok(None));
        assert_eq!(arguments.rest(), ["head", "body"]);
    }

    #[test]
    fn an_option_without_its_value_is_an_error() {
        let mut arguments = Arguments::of(&["--seconds"]);
        assert_eq!(arguments.option("--seconds"), Err("--seconds wants a value".to_owned()));
    }

    #[test]
    fn a_flag_is_taken_where_it_stands() {
        let mut arguments = Arguments::of(&["head", "--plain"]);
        assert!(arguments.flag("--plain"));
        assert!(!arguments.flag("--plain"));
        assert_eq!(arguments.rest(), ["head"]);
    }

    #[test]
    fn an_unknown_argument_is_an_error_that_names_it_and_the_help() {
        let refused = Arguments::of(&["--nonsense"]).finish().unwrap_err();
        assert_eq!(
            refused,
            "unknown argument \"--nonsense\": `cargo xtask help` lists those of each command"
        );
    }
}
