use std::collections::VecDeque;

/// What was typed after the program's name: words taken from the front, and options taken from anywhere.
#[derive(Debug)]
pub(crate) struct Arguments(VecDeque<String>);

impl Arguments {
    /// Those of this process. Arguments that are not UTF-8 are taken with replacement characters: none of ours can be.
    pub(crate) fn from_process() -> Self {
        Self(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect())
    }

    /// These words, as if they had been typed.
    #[cfg(test)]
    pub(crate) fn of(words: &[&str]) -> Self {
        Self(words.iter().map(|&word| word.to_owned()).collect())
    }

    /// The first word that is left.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.0.pop_front()
    }

    /// The value of `--name VALUE` or `--name=VALUE`.
    ///
    /// # Errors
    /// The option stands last, without a value.
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

    /// Whether `--name` stands there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let at = self.0.iter().position(|word| word == name);
        at.and_then(|at| self.0.remove(at)).is_some()
    }

    /// Every word that is left.
    pub(crate) fn rest(self) -> Vec<String> {
        self.0.into()
    }

    /// # Errors
    /// An argument is left that the command does not know.
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
