//! libFuzzer's entry to `weir_fuzz::upload_headers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::upload_headers::run(data));
