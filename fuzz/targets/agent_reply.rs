//! libFuzzer's entry to `weir_fuzz::agent_reply`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::agent_reply::run(data));
