//! Checks and traffic, through the crate's public face.

mod check;
mod ejection;
