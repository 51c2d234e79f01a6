//! libFuzzer's entry to `weir_fuzz::if_header`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::if_header::run(data));
