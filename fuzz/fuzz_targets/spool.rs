//! The fuzz target `spool`: see the function of that name.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bashd_fuzz::spool::try_bytes(bytes));
