//! libFuzzer's entry to `weir_fuzz::expression`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::expression::run(data));
