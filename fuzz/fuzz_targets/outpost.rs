//! The fuzz target `outpost`: see the function of that name.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bashd_fuzz::outpost::try_bytes(bytes));
