//! libFuzzer's entry to `weir_fuzz::redis_reply`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::redis_reply::run(data));
