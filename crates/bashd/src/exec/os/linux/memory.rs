//! Memory of this process that nobody uses any more.

/// Hands free pages of the heap back to the system, also those between others that are in use.
///
/// By itself the allocator gives back only what is free at the heap's end, so that one small thing that was made in a busy
/// moment keeps everything below it.
#[cfg(target_env = "gnu")]
pub(crate) fn give_back() {
    // SAFETY: glibc guards its heap by its own locks; free memory has no owner who could miss it.
    #[expect(unsafe_code, reason = "only libc knows its heap")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Allocators of other C libraries do that by themselves, or not at all.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn give_back() {}
