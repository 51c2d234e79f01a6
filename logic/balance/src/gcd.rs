//! The greatest common divisor of a list of numbers.

/// Returns the greatest common divisor of all numbers above 0, or 1 if there is none.
pub(crate) fn gcd_of(numbers: impl Iterator<Item = u32>) -> u32 {
    numbers.fold(0, gcd).max(1)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
