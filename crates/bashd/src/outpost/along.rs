//! What of a run's output goes along with its end, so that most replies need not ask for more.

use crate::event::Stream;
use crate::exec::Run;
use crate::output::Source;
use crate::output::veiled::Veil;
use crate::output::view::View;
use crate::place::conclusion::Along;
use crate::place::order::AlongLimits;
use crate::place::wire::FarPiece;
use std::ops::Range;

/// The parts of a run's output that come with its end, as far as they can be read.
pub(super) fn goes_along(run: &Run, limits: AlongLimits, veil: &Veil) -> Vec<Along> {
    let mut along = Vec::new();
    let streams = [
        (Stream::Out, Some(&run.out)),
        (Stream::Err, run.err.as_ref()),
    ];
    for (stream, output) in streams {
        let Some(output) = output else { continue };
        for range in ranges(output.len(), limits) {
            if let Ok(pieces) = View::of(output, veil).source().read(range.clone()) {
                along.push(Along {
                    stream,
                    from: range.start,
                    pieces: pieces.into_iter().map(FarPiece::from).collect(),
                });
            }
        }
    }
    along
}

/// The parts of a stream that come with its end: all of it, or its first and last bytes.
fn ranges(length: u64, limits: AlongLimits) -> Vec<Range<u64>> {
    if length == 0 {
        return Vec::new();
    }
    let whole = (0..length, None);
    let (first, last) = if length <= limits.first + limits.last {
        whole
    } else {
        (0..limits.first, Some(length - limits.last..length))
    };
    std::iter::once(first).chain(last).collect()
}
