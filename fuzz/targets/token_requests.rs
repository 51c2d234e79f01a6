//! libFuzzer's entry to `weir_fuzz::token_requests`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::token_requests::run(data));
