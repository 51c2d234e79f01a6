//! libFuzzer's entry to `weir_fuzz::client_hello`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::client_hello::run(data));
