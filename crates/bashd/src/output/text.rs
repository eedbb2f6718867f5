//! The one lossy decoding: bytes to text, the same however they arrive.
