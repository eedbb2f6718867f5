//! The fuzz target `script`: see the function of that name.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bashd_fuzz::script::try_bytes(bytes));
