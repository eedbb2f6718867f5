//! From the text as given to the text to run: pure.
