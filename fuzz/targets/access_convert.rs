//! libFuzzer's entry to `weir_fuzz::access_convert`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::access_convert::run(data));
