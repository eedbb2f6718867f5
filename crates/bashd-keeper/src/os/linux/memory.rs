//! Memory of this process that is no longer used.

/// Returns free pages of the heap to the system, even those between pages in use.
///
/// By itself the allocator returns only what is free at the heap's end, so one small allocation
/// from a busy moment keeps everything below it.
#[cfg(target_env = "gnu")]
pub fn give_back() {
    // SAFETY: glibc guards its heap by its own locks; free memory has no owner who could miss it.
    #[expect(unsafe_code, reason = "only libc knows its heap")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Other C libraries' allocators do this by themselves, or not at all.
#[cfg(not(target_env = "gnu"))]
pub fn give_back() {}

/// How many bytes of memory this process uses itself: heap and stacks, not files. `None` if the
/// system does not say.
pub fn own_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').skip(1).map(str::parse::<usize>);
    let (resident, of_files) = (pages.next()?.ok()?, pages.next()?.ok()?);
    let pages = resident.saturating_sub(of_files);
    Some(pages * rustix::param::page_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_env = "gnu")]
    fn free_pages_between_others_go_back() {
        const PIECE: usize = 4096;
        let mut pieces: Vec<Option<Vec<u8>>> = (0..4096).map(|_| Some(vec![1; PIECE])).collect();
        let busy = own_bytes().unwrap();
        // One in sixty-four stays, so nothing is free at the heap's end.
        for (number, piece) in pieces.iter_mut().enumerate() {
            if number % 64 != 63 {
                *piece = None;
            }
        }
        give_back();
        let quiet = own_bytes().unwrap();
        assert!(quiet + 2048 * PIECE < busy, "{busy} {quiet}");
        assert_eq!(pieces.iter().flatten().count(), 64);
    }
}
