//! libFuzzer's entry to `weir_fuzz::chunked_body`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::chunked_body::run(data));
