//! libFuzzer's entry to `weir_fuzz::request_head`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::request_head::run(data));
