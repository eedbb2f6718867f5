//! What code of other languages prints, where literals and names tell all of it: `python3 -c
//! 'print("x")'`, `awk 'BEGIN{print "a" b}'`, `node -p '"x"'`, `jq -rn '"x" | @base64d'`.

use super::decoders;
use super::foreign_known::ForeignValue;
use super::foreign_values;
use super::inner_scripts::printed_text;
use super::word::Word;
use super::word_reader::HOLE;

/// How a language prints: the call, what stands between its arguments, and what ends it.
type PrintCall = (&'static str, &'static str, &'static str);

fn printing(name: &str) -> &'static [PrintCall] {
    match name {
        "ruby" => &[("puts", "\n", "\n"), ("print", "", "")],
        "php" => &[("echo", "", ""), ("print", "", "")],
        "node" | "bun" | "deno" => &[("console.log", " ", "\n"), ("process.stdout.write", "", "")],
        "perl" => &[("printf", "%", ""), ("say", "", "\n"), ("print", "", "")],
        "awk" => &[("printf", "%", ""), ("print", " ", "\n")],
        _ => &[("sys.stdout.write", "", ""), ("print", " ", "\n")],
    }
}

/// What the code in these words prints, if it prints once, and what it prints is known.
pub(super) fn printed(name: &str, words: &[Word]) -> Option<String> {
    let is_awk = name == "awk";
    if let [option, code] = words
        && option.is("-p")
    {
        return told(code.known()?, code.known()?, is_awk, (" ", "\n"));
    }
    for (call, between, end) in printing(name) {
        let mut codes = words.iter().filter_map(Word::known);
        let found = codes.find_map(|code| Some((code, code.split_once(call)?.1)));
        let Some((code, after)) = found else { continue };
        let is_repeated = ["for ", "for(", "while", "each", "map"];
        let is_once = code.matches(call).count() == 1;
        if !is_once || is_repeated.iter().any(|word| code.contains(word)) {
            return None;
        }
        return told(code, after, is_awk, (between, end));
    }
    None
}

fn told(code: &str, inside: &str, is_awk: bool, how: (&str, &str)) -> Option<String> {
    let arguments = foreign_values::arguments(code, inside, is_awk);
    let values: Vec<&ForeignValue> = arguments
        .iter()
        .map(|values| match values.as_slice() {
            [value] => Some(value),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let texts: Vec<String> = values.iter().flat_map(|value| value.texts()).collect();
    let (between, end) = how;
    let text = match (between, texts.split_first()) {
        ("%", Some((format, rest))) => {
            let rest: Vec<ForeignValue> = rest.iter().cloned().map(ForeignValue::Text).collect();
            super::foreign_names::placed(&ForeignValue::Text(format.clone()), &rest).texts()
        }
        _ => vec![texts.join(between)],
    };
    let text = text.concat() + end;
    let is_known = !texts.is_empty() && !text.contains(HOLE);
    let is_known = is_known && values.iter().all(|it| !matches!(it, ForeignValue::Unknown));
    is_known.then_some(text)
}

/// `jq -rn '"x" | @base64d'`, `jq -rn '[114, 109] | implode'`, `jq -rn --arg x y '$x'`
pub(super) fn printed_by_jq(words: &[Word]) -> Option<String> {
    let mut names: Vec<(String, String)> = Vec::new();
    let (mut is_null, mut is_raw, mut filter) = (false, false, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = printed_text(word);
        match text.as_str() {
            "--arg" => {
                let (name, value) = (words.next()?, words.next()?);
                names.push((printed_text(name), printed_text(value)));
            }
            "--null-input" => is_null = true,
            "--raw-output" => is_raw = true,
            short if short.starts_with('-') => {
                is_null |= short.contains('n');
                is_raw |= short.contains(['r', 'j']);
            }
            _ if filter.is_none() => filter = Some(text),
            _ => return None,
        }
    }
    let filter = filter.filter(|_| is_null && is_raw)?;
    let mut stages = filter.split('|').map(str::trim);
    let first = stages.next()?.trim_matches(['(', ')']);
    let mut value = match first.strip_prefix('$') {
        Some(name) => {
            let pair = names.iter().find(|(own, _)| own == name);
            ForeignValue::Text(pair?.1.clone())
        }
        None => foreign_values::arguments("", first, false)
            .into_iter()
            .flatten()
            .next()?,
    };
    for stage in stages {
        let text = value.texts().concat();
        value = match stage.trim_matches(['(', ')', ' ']) {
            "@base64d" => ForeignValue::Text(decoders::from_base64(&text)?),
            "implode" => {
                let characters = value.texts().into_iter();
                let character = |text: String| char::from_u32(text.parse().ok()?);
                ForeignValue::Text(characters.map(character).collect::<Option<_>>()?)
            }
            "@text" | "tostring" | "." => value,
            "add" => ForeignValue::Text(text),
            stage => {
                let between = stage.strip_prefix("join(")?.trim_matches(['"', ')']);
                ForeignValue::Text(value.texts().join(between))
            }
        };
    }
    let text = value.texts().concat();
    (!text.is_empty() && !text.contains(HOLE)).then(|| text + "\n")
}
