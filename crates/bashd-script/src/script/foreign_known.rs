//! What is known of a value in code of other languages: a text, a list, a dictionary.

use super::word_reader::HOLE;

/// What an expression comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ForeignValue {
    /// A text; what only running tells of it is a hole.
    Text(String),
    List(Vec<ForeignValue>),
    Map(Vec<(String, ForeignValue)>),
    /// Only running tells.
    Unknown,
}

impl ForeignValue {
    pub(super) fn hole() -> Self {
        Self::Text(HOLE.iter().collect())
    }

    /// Its texts one after the other, if it is made of them.
    pub(super) fn texts(&self) -> Vec<String> {
        match self {
            Self::Text(text) => vec![text.clone()],
            Self::List(items) => items.iter().flat_map(Self::texts).collect(),
            Self::Map(_) | Self::Unknown => Vec::new(),
        }
    }

    /// It as JSON.
    pub(super) fn as_json(&self) -> String {
        match self {
            Self::Text(text) => {
                let text = text.replace('\\', "\\\\").replace('"', "\\\"");
                format!("\"{}\"", text.replace('\n', "\\n"))
            }
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::as_json).collect();
                format!("[{}]", items.join(","))
            }
            Self::Map(pairs) => {
                let pairs = pairs.iter();
                let pairs = pairs.map(|(key, value)| format!("\"{key}\":{}", value.as_json()));
                let pairs: Vec<String> = pairs.collect();
                format!("{{{}}}", pairs.join(","))
            }
            Self::Unknown => "null".to_owned(),
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::List(_) | Self::Map(_) | Self::Unknown => None,
        }
    }

    /// Whether something of it is known.
    pub(super) fn is_told(&self) -> bool {
        let [open, close] = HOLE;
        self.texts().iter().any(|text| {
            let mut told = text.chars().filter(|c| *c != open && *c != close);
            told.any(|c| !c.is_whitespace())
        })
    }

    /// What is at a place of it, by the key as it is written.
    pub(super) fn at(&self, key: &str) -> Option<Self> {
        match self {
            Self::List(items) => items.get(key.parse::<usize>().ok()?).cloned(),
            Self::Map(pairs) => {
                let pair = pairs.iter().rev().find(|(own, _)| own == key);
                pair.map(|(_, value)| value.clone())
            }
            Self::Text(_) | Self::Unknown => None,
        }
    }
}
