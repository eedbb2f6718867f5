//! The fields of a reply as data, made from the lines of the struct itself.
//!
//! Code that lists fields (a protocol's schema, the docs) reads them here and can't forget one. The
//! first line of a field's doc comment is what programs are told about it.

use super::Denied;
use crate::changes::{ChangeState, ChangesSummary, EffectKind, ListedPath};
use crate::plan::{
    ConfinementInForce, Connected, GrantableAccess, HostAccess, Level, LimitKind, LimitsInForce,
    Network, Refused, RefusedKind,
};
use bashd_keeper::left_behind::{LeftBehind, LeftReason};
use serde_json::Value;

/// One field: its name and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplyField {
    /// Its name in JSON.
    pub name: &'static str,
    /// The first line of its doc comment.
    pub(super) doc: &'static str,
    /// What it holds, where it holds something.
    pub holds: FieldType,
    /// What it is if it holds nothing.
    pub without: Nothing,
}

impl ReplyField {
    /// What it means, in a few words without a full stop.
    pub fn about(&self) -> &'static str {
        self.doc.trim().trim_end_matches('.')
    }
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// A text.
    Text,
    /// True or false.
    Flag,
    /// A whole number.
    Integer,
    /// A whole number from 0 on.
    Count,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A list of these.
    List(&'static FieldType),
    /// These fields; where there are none, whichever the profile has.
    Object(&'static [ReplyField]),
}

/// What a field is that holds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nothing {
    /// It always holds something.
    Never,
    /// Null.
    Null,
    /// It is left out.
    Absent,
}

/// A type that a field can have.
pub(super) trait Typed {
    /// What it holds.
    const HOLDS: FieldType;
    /// What it is if it holds nothing.
    const WITHOUT: Nothing = Nothing::Never;

    /// Whether this is nothing.
    fn is_null(&self) -> bool {
        false
    }

    /// Whether this is nothing, zero, false or empty.
    fn says_nothing(&self) -> bool {
        self.is_null()
    }
}

/// Gives types what they hold, and when they say nothing.
macro_rules! typed {
    ($($type:ty = $holds:expr $(, unless $test:expr)?;)+) => {
        $(impl Typed for $type {
            const HOLDS: FieldType = $holds;
            $(fn says_nothing(&self) -> bool {
                let test: fn(&Self) -> bool = $test;
                test(self)
            })?
        })+
    };
}

/// Makes a list of fields of their names, types and descriptions.
macro_rules! list {
    ($($name:ident: $type:ty, $doc:literal $(or $without:ident)?;)+) => {
        &[$(ReplyField {
            name: stringify!($name),
            doc: $doc,
            holds: <$type as Typed>::HOLDS,
            without: list!(@without $type $(, $without)?),
        }),+]
    };
    (@without $type:ty) => { <$type as Typed>::WITHOUT };
    (@without $type:ty, $without:ident) => { Nothing::$without };
}

/// Defines the struct of a reply, the list of its fields, and how it is written without some.
macro_rules! reply {
    (
        $(#[$attribute:meta])*
        pub struct $reply:ident {
            $(
                #[doc = $doc:literal]
                $(#[doc = $more:literal])*
                pub $name:ident: $type:ty,
            )+
        }
    ) => {
        $(#[$attribute])*
        pub struct $reply {
            $(
                #[doc = $doc]
                $(#[doc = $more])*
                pub $name: $type,
            )+
        }

        impl $reply {
            /// Every field, in the order of the JSON form.
            pub const FIELDS: &'static [ReplyField] = list! { $($name: $type, $doc;)+ };
        }

        impl Serialize for Rest<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $(
                    let (name, value) = (stringify!($name), &self.reply.$name);
                    if !Typed::is_null(value) && !self.elsewhere.contains(&name) {
                        map.serialize_entry(name, value)?;
                    }
                )+
                map.end()
            }
        }

        impl Serialize for CompactReply<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $(
                    let (name, value) = (stringify!($name), &self.reply.$name);
                    if !Typed::says_nothing(value) && !self.elsewhere.contains(&name) {
                        map.serialize_entry(name, value)?;
                    }
                )+
                map.end()
            }
        }
    };
}
pub(super) use {list, reply};

typed! {
    String = FieldType::Text, unless String::is_empty;
    bool = FieldType::Flag, unless |flag| !flag;
    i32 = FieldType::Integer;
    u64 = FieldType::Count, unless |count| *count == 0;
    Value = FieldType::Object(&[]), unless Value::is_null;
    LeftReason = FieldType::OneOf(&["survivor", "not_permitted", "unkillable"]);
    LimitKind = FieldType::OneOf(&["cgroup", "rlimits"]);
    Level = FieldType::OneOf(&["none", "landlock", "full"]);
    Network = FieldType::OneOf(&["none", "named", "all"]);
    HostAccess = FieldType::OneOf(&["proxy", "transparent"]);
    RefusedKind = FieldType::OneOf(&["write", "read", "connect", "exec", "syscall"]);
    Refused = FieldType::Object(list! {
        kind: RefusedKind, "What kind of thing";
        what: String, "The path, the host and its port, or the call of the kernel";
        count: u64, "How often";
    });
    GrantableAccess = FieldType::Object(list! {
        write: Vec<String>, "Paths; for something that does not exist, its directory";
        network: Vec<String>, "Hosts and their ports";
    });
    Connected = FieldType::Object(list! {
        host: String, "The host and its port";
        count: u64, "How many connections";
        sent: u64, "Bytes that went to it";
        received: u64, "Bytes that came from it";
    });
    ConfinementInForce = FieldType::Object(list! {
        level: Level, "By how much it is held";
        preset: String, "The name under which it was asked for";
        network: Network, "What of the network the command has";
        hosts: Vec<String>, "The hosts that it may connect to, if these are listed";
        hosts_by: Option<HostAccess>, "How it gets at them";
        files_watched: bool, "Whether `refused` tells files and system calls, too";
        reason: Option<String>, "Why it is held by less than `full`";
    });
    ListedPath = FieldType::Object(list! {
        path: String, "Relative to the command's directory if it is in there";
        kind: EffectKind, "What happened to it";
    });
    EffectKind = FieldType::OneOf(&["created", "modified", "deleted"]);
    ChangesSummary = FieldType::Object(list! {
        id: Option<String>, "By which it is applied, discarded or undone; null if nothing changed";
        state: ChangeState, "Whether it is real";
        created: u64, "Paths that are new";
        modified: u64, "Paths that are others than before";
        deleted: u64, "Paths that are gone";
        bytes: u64, "Bytes of what is new";
        paths: Vec<ListedPath>, "At most twenty of them; a whole directory is one";
        more: u64, "How many others there are";
        conflicts: Vec<String>, "Why it was not applied, though it should have been";
    });
    ChangeState = FieldType::OneOf(&["none", "running", "held", "applied", "undone", "in_part", "discarded"]);
    Denied = FieldType::Object(list! {
        rule: String, "Its name";
        message: String, "What it says";
        suggested_tool: Option<String>, "The tool to use instead" or Absent;
    });
    LeftBehind = FieldType::Object(list! {
        pid: i32, "Its process id";
        command: String, "Its command line";
        age_ms: u64, "Milliseconds since it started";
        reason: LeftReason, "Why it is still there";
        job: Option<String>, "The job by which it can be ended";
    });
    LimitsInForce = FieldType::Object(list! {
        kind: LimitKind, "How the limits are enforced";
        cpu_seconds: Option<u64>, "Seconds of processor time of each process";
        cpu_percent: Option<u64>, "Share of the processors; 100 is one";
        memory_bytes: Option<u64>, "Bytes of memory";
        processes: Option<u64>, "Processes at a time";
        out_of_memory: bool, "Whether the kernel ended a process for lack of memory";
    });
}

impl<T: Typed> Typed for Option<T> {
    const HOLDS: FieldType = T::HOLDS;
    const WITHOUT: Nothing = Nothing::Null;

    fn is_null(&self) -> bool {
        self.is_none()
    }
}

impl<T: Typed> Typed for Vec<T> {
    const HOLDS: FieldType = FieldType::List(&T::HOLDS);

    fn says_nothing(&self) -> bool {
        self.is_empty()
    }
}

#[cfg(test)]
mod tests;
