//! Limits on the text of a policy, checked before parsing. The parser and later passes recurse, so the depth
//! of a policy determines their use of the stack.

use super::CedarPolicies;

/// Maximum depth of brackets, and maximum number of `if` in a policy. For each one the parser recurses
/// through all of its grammar rules.
const NESTED_MAX: usize = 32;
/// Maximum number of operator bytes in a policy (`||` has two). A chain of operators parses to a tree as deep
/// as the chain is long.
const OPERATORS_MAX: usize = 1_000;

/// Returns the start of the first policy that exceeds a limit, and the reason. A semicolon in a string or
/// comment does not end a policy.
pub(super) fn too_much(text: &str) -> Option<(usize, String)> {
    let bytes = text.as_bytes();
    let mut policy = Policy::default();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_text(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'/') => at = end_of_comment(bytes, at),
            b'(' => policy.open += 1,
            // Count these as operators too: attributes may be written in brackets, and a policy may have many
            // conditions in braces.
            b'[' | b'{' => {
                policy.open += 1;
                policy.operators += 1;
            }
            b')' | b']' | b'}' => policy.open = policy.open.saturating_sub(1),
            b'.' | b'|' | b'&' | b'+' | b'-' | b'*' | b'!' => policy.operators += 1,
            b'i' if is_condition(bytes, at) => policy.conditions += 1,
            b';' => policy = Policy { start: at + 1, ..Policy::default() },
            _ => {}
        }
        at += 1;
        if let Some(why) = policy.too_much(at) {
            return Some((policy.start, why));
        }
    }
    None
}

/// Returns the position of the closing quote of the string that starts at `at`.
fn end_of_text(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

/// Returns the end of the comment that starts at `at`. A carriage return ends it, as it does for the parser.
fn end_of_comment(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len())
}

/// Returns the start of the first policy at or after a byte. Skips white space and comments.
pub(super) fn next_policy(text: &str, mut at: usize) -> usize {
    loop {
        let rest = text.get(at..).unwrap_or_default();
        at += rest.len() - rest.trim_start().len();
        if !text.get(at..).unwrap_or_default().starts_with("//") {
            return at;
        }
        at = end_of_comment(text.as_bytes(), at);
    }
}

/// Counters for one policy.
#[derive(Default)]
struct Policy {
    start: usize,
    open: usize,
    conditions: usize,
    operators: usize,
}

impl Policy {
    fn too_much(&self, at: usize) -> Option<String> {
        let bytes_max = CedarPolicies::POLICY_BYTES_MAX;
        if at.saturating_sub(self.start) > bytes_max {
            Some(format!("a policy is longer than {bytes_max} bytes"))
        } else if self.open > NESTED_MAX {
            Some(format!("a policy has more than {NESTED_MAX} brackets within each other"))
        } else if self.conditions > NESTED_MAX {
            Some(format!("a policy has more than {NESTED_MAX} times if"))
        } else if self.operators > OPERATORS_MAX {
            Some(format!("a policy has more than {} operators", OPERATORS_MAX / 2))
        } else {
            None
        }
    }
}

/// Returns true if the word `if` stands at `at`.
fn is_condition(bytes: &[u8], at: usize) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    bytes.get(at + 1) == Some(&b'f') && !is_part(bytes.get(at + 2)) && !is_part(before)
}
