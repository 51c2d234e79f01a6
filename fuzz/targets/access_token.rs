//! libFuzzer's entry to `weir_fuzz::access_token`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::access_token::run(data));
