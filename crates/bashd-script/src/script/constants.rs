//! What is known of variables at some place of the text: `d=/; rm -rf $d`.
//!
//! In text order, an assignment replaces what is known; inside a condition or a loop's body it adds
//! a possibility, since it is unknown whether it runs. What a subshell, a substitution or the body
//! of a function changes is forgotten behind it. How known values get into words is in
//! `filling.rs`, what a command changes in `learning.rs`.

use super::view::{Assigned, Assignment, Construct, Joint, SimpleCommand};
use super::word::{ScriptText, Word, WordPart};
use super::{Span, deferred};
use std::collections::HashMap;
use std::rc::Rc;

/// Possible values of one variable, and words that one word may become.
pub(super) const MOST_POSSIBILITIES: usize = 32;

/// Most elements of an array that is followed.
const MOST_ELEMENTS: usize = 256;

/// Most bytes and parts of a value that is followed: longer ones are data. Without a bound,
/// `x=$x$x` would double and double.
const MOST_VALUE_BYTES: usize = 4096;
const MOST_VALUE_PARTS: usize = 16;

/// How many names of names are followed.
const MOST_REFERENCES: usize = 4;

/// Most variables that are passed on to an inner script: with more, none is.
const MOST_HANDED_ON: usize = 64;

/// Bytes of scripts that may be gone through once more, for functions that are called and output
/// that is worked out. Beyond that, they stay unknown.
const MOST_WORK: usize = 1 << 20;

/// What is known of one variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Known {
    /// It is one of these.
    OneOf(Vec<Word>),
    /// It is an array of these.
    List(Vec<Word>),
}

/// What becomes of the letters of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LetterCase {
    Small,
    Capital,
}

/// Texts with a name that are scripts where they are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum NamedText {
    Function,
    Alias,
    File,
    /// A task that a program has written into the settings of the project.
    Task,
    /// What a descriptor or a pipe with a name reads, as far as it is known.
    Opened,
    /// The script that reads what is written into a descriptor, or a pipe with a name.
    Reader,
    /// Where a symbolic link of the script leads.
    Link,
    /// What the script has mounted at a place.
    Mount,
}

/// What is known about variables at some place of the text.
#[derive(Debug, Clone, Default)]
pub(super) struct Constants {
    values: HashMap<ScriptText, Known>,
    texts: HashMap<(NamedText, ScriptText), Rc<str>>,
    /// Which kinds of them there are, a bit each: most scripts have none but functions.
    kinds: u8,
    /// Variables that are other names of others (`declare -n`).
    references: HashMap<ScriptText, ScriptText>,
    /// Variables whose values are always in small or in capital letters (`declare -l`, `-u`).
    cases: HashMap<ScriptText, LetterCase>,
    /// What the variables of a caller were that the functions being called have made local.
    locals: Vec<Vec<(ScriptText, Option<Known>)>>,
    /// The scopes around this place, and where in the log each begins.
    scopes: Vec<(u32, usize)>,
    /// What was there before, for scopes that end.
    log: Vec<(ScriptText, Option<Known>)>,
    /// Whether a script around this one needs the log.
    is_logged: bool,
    /// The bodies of the functions that are being called.
    pub(super) calls: Vec<Rc<str>>,
    /// Whether this is the body of a function, whose positional parameters are its caller's.
    pub(super) is_in_function: bool,
    /// How many expansions are being worked out inside each other.
    pub(super) depth: usize,
    /// Bytes of scripts that were gone through once more.
    work: usize,
}

/// What `begin_script` puts aside.
pub(super) struct OuterScopes {
    scopes: Vec<(u32, usize)>,
    is_logged: bool,
    log_start: usize,
}

impl Constants {
    /// This knowledge for a script that another shell runs here, with its own positional
    /// parameters.
    pub(super) fn hand_on(&self, own: &[Assignment], positional: Option<&[Word]>) -> Self {
        let mut handed_on = if self.values.len() + self.texts.len() > MOST_HANDED_ON {
            Self::default()
        } else {
            Self {
                values: self.values.clone(),
                texts: self.texts.clone(),
                kinds: self.kinds,
                ..Self::default()
            }
        };
        // What reads a descriptor does not write into it: `exec 2> >(tee x >&2)`.
        if handed_on.has_text_of(NamedText::Reader) {
            handed_on
                .texts
                .retain(|(kind, _), _| *kind != NamedText::Reader);
        }
        handed_on.work = self.work;
        handed_on.calls.clone_from(&self.calls);
        handed_on.forget("@");
        handed_on.set_own(own);
        if let Some(positional) = positional {
            handed_on.set_positional(positional);
        }
        handed_on
    }

    /// `x=y` before a command.
    pub(super) fn set_own(&mut self, own: &[Assignment]) {
        for assignment in own {
            if let Assigned::Value(word) = &assignment.value {
                self.assign(&assignment.name, word, false);
            }
        }
    }

    /// The words behind `bash -c SCRIPT`: `$0`, then the others.
    pub(super) fn set_positional(&mut self, words: &[Word]) {
        if let Some((name, rest)) = words.split_first() {
            self.set("0".into(), Known::OneOf(vec![name.clone()]));
            self.set("@".into(), Known::List(rest.to_vec()));
        }
    }

    /// Takes over what a script did that the same shell has run.
    pub(super) fn spend_as(&mut self, other: &Self) {
        self.work = self.work.max(other.work);
    }

    /// Counts bytes that are gone through once more; whether there are any left to spend.
    pub(super) fn may_work(&mut self, bytes: usize) -> bool {
        self.work = self.work.saturating_add(bytes + 64);
        self.work <= MOST_WORK
    }

    /// Moves to a scope, and forgets what those that end have changed; returns whether it is a new
    /// one.
    pub(super) fn enter(&mut self, scope: u32, around: &[u32]) -> bool {
        while let Some((open, start)) = self.scopes.last().copied() {
            if is_inside(scope, open, around) {
                break;
            }
            self.undo(start);
            self.scopes.pop();
        }
        let is_new = scope != 0 && self.scopes.last().is_none_or(|(open, _)| *open != scope);
        if is_new {
            self.scopes.push((scope, self.log.len()));
        }
        is_new
    }

    /// Begins a script that the same shell runs: it has scopes of its own.
    pub(super) fn begin_script(&mut self) -> OuterScopes {
        let outer = OuterScopes {
            scopes: std::mem::take(&mut self.scopes),
            is_logged: self.is_logged,
            log_start: self.log.len(),
        };
        self.is_logged |= !outer.scopes.is_empty();
        outer
    }

    /// Ends it: what its scopes changed is forgotten, what it changed itself stays.
    pub(super) fn end_script(&mut self, outer: OuterScopes) {
        self.enter(0, &[0]);
        self.scopes = outer.scopes;
        self.is_logged = outer.is_logged;
    }

    /// Ends a script whose changes stay in it.
    pub(super) fn drop_script(&mut self, outer: OuterScopes) {
        self.undo(outer.log_start);
        self.scopes = outer.scopes;
        self.is_logged = outer.is_logged;
    }

    /// Makes sure that everything from here on can be undone.
    pub(super) fn begin_trial(&mut self) -> OuterScopes {
        let outer = self.begin_script();
        self.is_logged = true;
        outer
    }

    fn undo(&mut self, start: usize) {
        while self.log.len() > start {
            let Some((name, before)) = self.log.pop() else {
                return;
            };
            match before {
                Some(known) => self.values.insert(name, known),
                None => self.values.remove(&name),
            };
        }
    }

    fn remember(&mut self, name: &str) {
        if self.is_logged || !self.scopes.is_empty() {
            let before = self.values.get(name).cloned();
            self.log.push((name.into(), before));
        }
    }

    /// What is known of a variable.
    pub(super) fn known(&self, name: &str) -> Option<&Known> {
        if self.values.is_empty() {
            return None;
        }
        self.values.get(self.target(name))
    }

    /// The variable that is meant by a name.
    fn target<'a>(&'a self, name: &'a str) -> &'a str {
        let mut name = name;
        for _ in 0..MOST_REFERENCES {
            match self
                .references
                .get(name)
                .filter(|_| !self.references.is_empty())
            {
                Some(target) => name = target,
                None => break,
            }
        }
        name
    }

    /// `declare -n name=target`
    pub(super) fn refer(&mut self, name: &str, target: &str) {
        if self.references.len() < MOST_HANDED_ON {
            self.references.insert(name.into(), target.into());
        }
    }

    /// The body of a function begins: what it makes local ends with it.
    pub(super) fn begin_function(&mut self) {
        self.locals.push(Vec::new());
    }

    /// It ends.
    pub(super) fn end_function(&mut self) {
        for (name, before) in self.locals.pop().unwrap_or_default().into_iter().rev() {
            match before {
                Some(before) => self.set(name, before),
                None => self.forget(&name),
            }
        }
    }

    /// `local x`, in the body of a function that is called.
    pub(super) fn make_local(&mut self, name: &str) {
        let before = self.values.get(name).cloned();
        if let Some(locals) = self.locals.last_mut()
            && !locals.iter().any(|(local, _)| local == name)
        {
            locals.push((name.into(), before));
        }
    }

    /// The only value that a variable can have.
    pub(super) fn only(&self, name: &str) -> Option<&Word> {
        match self.known(name)? {
            Known::OneOf(values) => match values.as_slice() {
                [value] => Some(value),
                _ => None,
            },
            Known::List(words) => words.first(),
        }
    }

    /// Records a value; `maybe` if it is unknown whether that happens.
    pub(super) fn assign(&mut self, name: &str, word: &Word, maybe: bool) {
        match (is_unknown(word) || is_data(word), maybe) {
            (true, true) => {}
            (true, false) => self.forget(name),
            (false, false) => {
                let known = match self.known(name) {
                    // `a=(x y); a=z` changes the first.
                    Some(Known::List(list)) if list.len() > 1 => {
                        let mut list = list.clone();
                        list.splice(..1, [word.clone()]);
                        Known::List(list)
                    }
                    _ => Known::OneOf(vec![word.clone()]),
                };
                self.set(name.into(), known);
            }
            (false, true) => {
                let mut values = match self.known(name) {
                    Some(Known::OneOf(values)) => values.clone(),
                    Some(Known::List(_)) => return,
                    None => Vec::new(),
                };
                if values.len() < MOST_POSSIBILITIES && !values.contains(word) {
                    values.push(word.clone());
                    self.set(name.into(), Known::OneOf(values));
                }
            }
        }
    }

    /// Records what is known from here on.
    pub(super) fn set(&mut self, name: ScriptText, known: Known) {
        let is_followed = match &known {
            Known::OneOf(words) => {
                !words.is_empty() && words.len() <= MOST_POSSIBILITIES && !words.iter().any(is_data)
            }
            Known::List(words) => words.len() <= MOST_ELEMENTS && !words.iter().any(is_data),
        };
        if !is_followed {
            self.forget(&name);
            return;
        }
        let name = if self.references.is_empty() {
            name
        } else {
            self.target(&name).into()
        };
        self.remember(&name);
        let known = match self.cases.get(&name) {
            Some(case) => with_case(known, *case),
            None => known,
        };
        self.values.insert(name, known);
    }

    /// `declare -l name`
    pub(super) fn declare_case(&mut self, name: &str, case: LetterCase) {
        if self.cases.len() < MOST_HANDED_ON {
            self.cases.insert(name.into(), case);
        }
    }

    /// Nothing is known of it any more.
    pub(super) fn forget(&mut self, name: &str) {
        if self.known(name).is_some() {
            let name = self.target(name).to_owned();
            self.remember(&name);
            self.values.remove(name.as_str());
        }
    }

    /// Records a text that is run where its name is called.
    pub(super) fn define(&mut self, kind: NamedText, name: &str, text: &str) {
        self.kinds |= 1 << kind as u8;
        self.texts.insert((kind, name.into()), text.into());
    }

    /// The text of that name.
    pub(super) fn text(&self, kind: NamedText, name: &str) -> Option<Rc<str>> {
        if !self.has_text_of(kind) {
            return None;
        }
        self.texts.get(&(kind, name.into())).cloned()
    }

    /// The names of the functions that can be called.
    pub(super) fn functions(&self) -> Vec<String> {
        let names = self
            .texts
            .keys()
            .filter(|(kind, _)| *kind == NamedText::Function);
        names.map(|(_, name)| name.to_string()).collect()
    }

    /// Whether any text of this kind is known.
    pub(super) fn has_text_of(&self, kind: NamedText) -> bool {
        self.kinds & (1 << kind as u8) != 0
    }

    /// Whether any texts with a name are known.
    pub(super) fn has_texts(&self) -> bool {
        !self.texts.is_empty()
    }

    /// Whether the command may call a text that is known by its name.
    pub(super) fn may_be_text(&self, command: &SimpleCommand) -> bool {
        !self.texts.is_empty() && !command.words.is_empty()
    }

    /// What separates words, as far as it is known.
    pub(super) fn separators(&self) -> &str {
        self.only("IFS").and_then(Word::known).unwrap_or(" \t\n")
    }
}

fn with_case(mut known: Known, case: LetterCase) -> Known {
    let (Known::OneOf(words) | Known::List(words)) = &mut known;
    for part in words.iter_mut().flat_map(|word| word.parts.iter_mut()) {
        if let WordPart::Text(text) = part {
            *text = match case {
                LetterCase::Small => text.to_lowercase(),
                LetterCase::Capital => text.to_uppercase(),
            };
        }
    }
    known
}

/// Whether a scope is another one, or inside it.
fn is_inside(scope: u32, other: u32, around: &[u32]) -> bool {
    let mut scope = scope;
    while scope != other {
        match around.get(scope as usize) {
            Some(outer) if *outer != scope => scope = *outer,
            _ => return false,
        }
    }
    true
}

/// Whether only running can tell a part of it.
pub(super) fn is_unknown(word: &Word) -> bool {
    word.parts.iter().any(|part| match part {
        WordPart::Unknown { .. } => true,
        WordPart::Variable { name, .. } => deferred::is_deferred(name),
        WordPart::Text(_) | WordPart::Glob(_) | WordPart::Tilde(_) => false,
    })
}

/// Whether a value is too long to be followed.
fn is_data(word: &Word) -> bool {
    word.parts.len() > MOST_VALUE_PARTS || word.size() > MOST_VALUE_BYTES
}

/// Whether it is unknown if the command runs before what comes after it.
pub(super) fn is_conditional(command: &SimpleCommand) -> bool {
    let inside = command.place.inside;
    [Construct::Condition, Construct::Loop]
        .into_iter()
        .any(|construct| inside.contains(construct))
        || command.place.joint == Joint::Or
}

/// A word of text that nothing in the script says where it stands.
pub(super) fn text_word(text: &str) -> Word {
    Word::of(text, Span::default())
}
