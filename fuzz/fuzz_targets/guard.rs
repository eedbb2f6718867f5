//! The fuzz target `guard`: see the function of that name.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bashd_fuzz::guard::try_bytes(bytes));
