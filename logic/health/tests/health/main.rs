//! Tests of health decisions through the crate's public interface.

mod check;
mod ejection;
