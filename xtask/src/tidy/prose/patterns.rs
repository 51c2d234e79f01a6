//! Words that make a sentence hard to read.

/// Words that a comment does not begin with: as nouns they hide who does what.
const HEADLESS: [&str; 13] = [
    "what",
    "who",
    "whom",
    "whose",
    "whoever",
    "whatever",
    "whichever",
    "whether",
    "how",
    "which",
    "that",
    "those",
    "where",
];

/// Words and phrases that a plain one replaces.
const BANNED: [&str; 14] = [
    "nobody",
    "somebody",
    "everybody",
    "anybody",
    "is told",
    "are told",
    "tells of",
    "anew",
    "as ever",
    "let down",
    "lets down",
    "wished",
    "asked of",
    "at all",
];

/// The first word of a text if it opens a clause without subject.
pub(super) fn headless_opening(text: &str) -> Option<&str> {
    let first = text.split(|c: char| !c.is_alphanumeric()).next()?;
    let is_opening = HEADLESS.iter().any(|word| word.eq_ignore_ascii_case(first));
    let sentence = text.split_once(['.', ';']).map_or(text, |(sentence, _)| sentence);
    // "Where the pool is empty, the request waits" has its subject behind the comma.
    let has_main_clause = first.eq_ignore_ascii_case("where") && sentence.contains(',');
    (is_opening && !has_main_clause).then_some(first)
}

/// The banned words and phrases of a text.
pub(super) fn banned(text: &str) -> impl Iterator<Item = &'static str> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let spaced = format!(" {} ", words.join(" "));
    BANNED.into_iter().flat_map(move |phrase| {
        let count = spaced.matches(&format!(" {phrase} ")).count();
        std::iter::repeat_n(phrase, count)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_without_subject_is_found() {
        assert_eq!(headless_opening("What is kept of a request."), Some("What"));
        assert_eq!(headless_opening("Whether it is open."), Some("Whether"));
        assert_eq!(headless_opening("Where the file is."), Some("Where"));
        assert_eq!(headless_opening("Where the pool is empty, the request waits."), None);
        assert_eq!(headless_opening("Whatnot."), None);
        assert_eq!(headless_opening("Returns what is kept."), None);
    }

    #[test]
    fn banned_words_are_whole_words_in_any_case_and_over_punctuation() {
        assert_eq!(banned("Nobody is told, nobody.").collect::<Vec<_>>(), ["nobody", "nobody", "is told"]);
        assert_eq!(banned("That is at\nall; nobodys, renewed").collect::<Vec<_>>(), ["at all"]);
    }
}
