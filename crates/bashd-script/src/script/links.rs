//! Where symbolic links and mounts lead that the script itself makes: `ln -s / x; rm -rf x/etc`.

use super::constants::{Constants, NamedText};
use super::inner_scripts::printed_text;
use super::printed::{as_word, file_key};
use super::view::SimpleCommand;
use super::word::Word;

/// How deep in a path a link is looked for.
const MOST_DEPTH: usize = 8;

/// Programs that are about a link, and not about where it leads, if they name it alone.
const OF_LINKS: [&str; 12] = [
    "rm", "unlink", "ln", "readlink", "mv", "ls", "stat", "cp", "test", "[", "chown", "find",
];

impl Constants {
    /// `ln -s TARGET LINK`
    pub(super) fn learn_link(&mut self, words: &[Word]) {
        let is_option = |word: &&Word| word.known_beginning().starts_with('-');
        let is_symbolic = words.iter().filter(is_option).any(|word| {
            let text = word.known_beginning();
            !text.starts_with("--") && text.contains('s') || text == "--symbolic"
        });
        let mut operands = words.iter().filter(|word| !is_option(word));
        let (Some(target), Some(link), None) = (operands.next(), operands.next(), operands.next())
        else {
            return;
        };
        let is_far = target.known_beginning().starts_with('/') || target.after_home().is_some();
        if is_symbolic && is_far {
            self.learn_place(NamedText::Link, target, link);
        }
    }

    /// `mount --bind TARGET PLACE`
    pub(super) fn learn_mount(&mut self, words: &[Word]) {
        let is_bind = |word: &Word| {
            matches!(
                word.known(),
                Some("--bind" | "-B" | "--rbind" | "-R" | "bind" | "rbind")
            )
        };
        if !words.iter().any(is_bind) {
            return;
        }
        let is_path = |word: &&Word| {
            let text = word.known_beginning();
            !text.starts_with('-') && !is_bind(word)
        };
        let paths: Vec<&Word> = words.iter().filter(is_path).collect();
        if let [target, place] = paths.as_slice() {
            self.learn_place(NamedText::Mount, target, place);
        }
    }

    fn learn_place(&mut self, kind: NamedText, target: &Word, place: &Word) {
        let Some(path) = place.known() else { return };
        let path = file_key(path).trim_end_matches('/');
        if path.is_empty() || path.len() > 256 {
            return;
        }
        let text = printed_text(target);
        // In a directory, the link is called as what it leads to.
        let name = text
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default();
        if kind == NamedText::Link && !name.is_empty() {
            self.define(kind, &format!("{path}/{name}"), &text);
        }
        self.define(kind, path, &text);
    }

    /// The words of a command with the links in their paths followed, if there are any.
    pub(super) fn without_links(&self, command: &SimpleCommand) -> Option<Vec<Word>> {
        if !self.has_text_of(NamedText::Link) && !self.has_text_of(NamedText::Mount) {
            return None;
        }
        let name = command.name()?;
        let is_about_links = OF_LINKS.contains(&name);
        let follows = command
            .arguments()
            .iter()
            .any(|word| word.is("-L") || word.is("-H"));
        let mut has_any = false;
        let followed = command.words.iter().map(|word| {
            match self.followed(word, is_about_links && !follows) {
                Some(word) => {
                    has_any = true;
                    word
                }
                None => word.clone(),
            }
        });
        let words: Vec<Word> = followed.collect();
        has_any.then_some(words)
    }

    /// A path with the link at its beginning followed.
    fn followed(&self, word: &Word, is_about_link: bool) -> Option<Word> {
        let text = word.literal_or_glob()?;
        let (before, path) = match text.strip_prefix("of=") {
            Some(path) => ("of=", path),
            None => ("", text.as_ref()),
        };
        let path = file_key(path);
        let ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .skip_while(|at| *at == 0);
        for end in ends.take(MOST_DEPTH).chain([path.len()]) {
            let (place, rest) = path.split_at_checked(end)?;
            let is_alone = rest.is_empty();
            let link = self
                .text(NamedText::Link, place)
                .filter(|_| !is_alone || !is_about_link);
            let target = link.or_else(|| self.text(NamedText::Mount, place));
            if let Some(target) = target {
                let target = target.trim_end_matches('/');
                let path = format!(
                    "{before}{target}{}",
                    if rest.is_empty() && target.is_empty() {
                        "/"
                    } else {
                        rest
                    }
                );
                return Some(Word {
                    span: word.span,
                    ..with_globs(&as_word(&path), word)
                });
            }
        }
        None
    }
}

/// A word whose patterns are as active as those of another one.
fn with_globs(word: &Word, other: &Word) -> Word {
    use super::word::WordPart;
    let mut made = Word::default();
    for part in &word.parts {
        match part {
            WordPart::Text(text) if other.has_glob() && text.contains(['*', '?', '[']) => {
                let at = text.find(['*', '?', '[']).unwrap_or(text.len());
                let (plain, glob) = text.split_at(at);
                made.push(WordPart::Text(plain.into()));
                made.push(WordPart::Glob(glob.into()));
            }
            part => made.push(part.clone()),
        }
    }
    made
}
