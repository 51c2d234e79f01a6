//! Reports in Weir's own format and in the formats of well-known generators, which makes their figures
//! comparable.

mod ab;
mod curves;
mod hdr;
mod html;
mod httperf;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod vegeta;

pub use ab::{AB_TSV_HEADING, ab, append_ab_tsv};
pub use hdr::hdr;
pub use html::html;
pub use httperf::httperf;
pub use text::text;
pub use vegeta::{vegeta_histogram, vegeta_json, vegeta_text};
