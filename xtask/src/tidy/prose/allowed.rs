//! The numbers of offences that parts of the repository may still have.

use std::collections::BTreeMap;

use super::Rule;

pub(super) const PATH: &str = "xtask/src/tidy/prose/allowed";
pub(super) const TEXT: &str = include_str!("allowed");

/// Reads lines of the form `PART RULE COUNT`.
pub(super) fn parse(text: &str) -> Result<BTreeMap<(String, Rule), usize>, String> {
    text.lines().map(|line| entry(line).ok_or_else(|| format!("{line:?} is not PART RULE COUNT"))).collect()
}

fn entry(line: &str) -> Option<((String, Rule), usize)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [part, rule, count] = fields.as_slice() else { return None };
    let rule = Rule::ALL.into_iter().find(|known| known.name() == *rule)?;
    Some((((*part).to_owned(), rule), count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_part_a_rule_and_a_count() {
        let allowed = parse("io/proxy headless 7\n").unwrap();
        assert_eq!(allowed.get(&("io/proxy".to_owned(), Rule::Headless)), Some(&7));
        for wrong in ["io/proxy headless", "io/proxy unknown 1", "io/proxy header x", "a header 1 2"] {
            assert_eq!(parse(wrong), Err(format!("{wrong:?} is not PART RULE COUNT")));
        }
    }
}
