//! libFuzzer's entry to `weir_fuzz::proxy_header`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::proxy_header::run(data));
