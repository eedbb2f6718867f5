//! The spool of one stream: head file, ring, and a shared page of counters.
