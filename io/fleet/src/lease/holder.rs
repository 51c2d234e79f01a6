//! Names of lease holders: a readable part and a unique part.

use std::fs;

/// Number of random bytes in a name.
const RANDOM_BYTES: usize = 16;
const SHOWN_CHARS_MAX: usize = 100;

/// Returns a unique name.
///
/// # Errors
/// If the system has no randomness.
pub(super) fn fresh() -> Result<String, String> {
    let mut random = [0; RANDOM_BYTES];
    aws_lc_rs::rand::fill(&mut random).map_err(|_| "no randomness".to_owned())?;
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}/{}/{random}", host.trim(), std::process::id()))
}

/// Describes a holder for operators. The store may contain any text, so it is sanitised.
pub(super) fn described(holder: &str) -> String {
    let shown =
        |text: &str| -> String { text.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS_MAX).collect() };
    let parts: Vec<&str> = holder.split('/').collect();
    match parts[..] {
        [host, process, _] => format!("{}, process {}", shown(host), shown(process)),
        _ => shown(holder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_somebody_else_each_time_and_can_be_named() {
        let (one, other) = (fresh().unwrap(), fresh().unwrap());
        assert_ne!(one, other);
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert_eq!(described(&one), format!("{}, process {}", host.trim(), std::process::id()));
        assert_eq!(described("\u{1b}[31msomebody"), "[31msomebody");
    }
}
