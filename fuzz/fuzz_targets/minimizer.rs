//! The fuzz target `minimizer`: see the function of that name.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bashd_fuzz::minimizer::try_bytes(bytes));
