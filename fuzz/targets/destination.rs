//! libFuzzer's entry to `weir_fuzz::destination`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::destination::run(data));
