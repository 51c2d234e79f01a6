//! libFuzzer's entry to `weir_fuzz::request_path`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::request_path::run(data));
