//! libFuzzer's entry to `weir_fuzz::access_rules`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::access_rules::run(data));
