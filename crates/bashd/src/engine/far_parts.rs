//! A call about jobs of several nodes of an allocation: each node gets its part of it, and their
//! answers become one.

use crate::jobs::FarSite;
use crate::reply::Reply;
use serde_json::Value;
use std::collections::BTreeMap;

/// The arguments by which calls of job tools name jobs.
const NAMING: [&str; 4] = ["job", "jobs", "poll", "cancel"];

/// What the answers of several nodes need of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartsWanted {
    /// All of them.
    All,
    /// The first one: nobody waits for the others.
    First,
}

impl PartsWanted {
    /// What a call wants that says so itself: one that waits for any job, or that polls.
    pub(super) fn of(input: &Value) -> Self {
        let is_action = !input["action"].is_null();
        let any = if is_action {
            input["action"] == "wait" && input["any"] == true
        } else {
            let is_given = |key: &str| !input[key].is_null();
            input["list"] != true && (is_given("poll") || !is_given("cancel"))
        };
        if any { Self::First } else { Self::All }
    }
}

/// The jobs that a call of a job tool names.
pub(super) fn named_in(input: &Value) -> Vec<String> {
    let mut named = Vec::new();
    for key in NAMING {
        match &input[key] {
            Value::String(name) => named.push(name.clone()),
            Value::Array(several) => {
                let texts = several.iter().filter_map(Value::as_str);
                named.extend(texts.map(str::to_owned));
            }
            _ => {}
        }
    }
    named
}

/// The call for each place where jobs of these names are; the first gets what is nowhere.
pub(super) fn parts(
    input: &Value,
    sites: &BTreeMap<FarSite, Vec<String>>,
) -> Vec<(FarSite, String)> {
    let is_known = |name: &str| sites.values().flatten().any(|known| known == name);
    let mut parts = Vec::new();
    for (number, (site, names)) in sites.iter().enumerate() {
        let is_there = |name: &Value| {
            let name = name.as_str().unwrap_or_default();
            names.iter().any(|there| there == name) || number == 0 && !is_known(name)
        };
        let mut part = input.clone();
        for key in NAMING {
            let Some(Value::Array(several)) = part.get_mut(key) else {
                continue;
            };
            if !several.is_empty() {
                several.retain(is_there);
                if several.is_empty() {
                    part.as_object_mut().map(|part| part.remove(key));
                }
            }
        }
        parts.push((site.clone(), part.to_string()));
    }
    parts
}

/// One reply of several nodes' replies.
pub(super) fn together(mut replies: Vec<Reply>) -> Reply {
    let is_empty = |reply: &Reply| {
        let listed = reply.result["jobs"].as_array();
        !reply.is_error && listed.is_some_and(Vec::is_empty)
    };
    // A node says that it has none only if no other has any.
    if replies.iter().any(|reply| !is_empty(reply)) {
        replies.retain(|reply| !is_empty(reply));
    } else {
        replies.truncate(1);
    }
    let mut replies = replies.into_iter();
    let mut all = replies.next().unwrap_or_default();
    for reply in replies {
        all.text = format!("{}\n{}", all.text, reply.text);
        all.is_error |= reply.is_error;
        all.error = match (all.error.take(), reply.error) {
            (Some(one), Some(other)) => Some(format!("{one}\n{other}")),
            (one, other) => one.or(other),
        };
        add(&mut all.result, reply.result);
    }
    all
}

/// Lists grow by those of another answer; what only that has is taken over.
fn add(all: &mut Value, more: Value) {
    match (all, more) {
        (Value::Object(all), Value::Object(more)) => {
            for (key, value) in more {
                match (all.get_mut(&key), value) {
                    (Some(Value::Array(listed)), Value::Array(more)) => listed.extend(more),
                    (Some(_), _) => {}
                    (None, value) => {
                        all.insert(key, value);
                    }
                }
            }
        }
        (all @ Value::Null, more) => *all = more,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sites(names: &[&str]) -> BTreeMap<FarSite, Vec<String>> {
        let mut sites: BTreeMap<FarSite, Vec<String>> = BTreeMap::new();
        for name in names {
            let site = FarSite::of(name, "far").unwrap();
            sites.entry(site).or_default().push((*name).to_owned());
        }
        sites
    }

    fn reply(text: &str, jobs: &Value) -> Reply {
        Reply {
            text: text.to_owned(),
            result: json!({ "jobs": jobs }),
            ..Reply::default()
        }
    }

    #[test]
    fn each_node_gets_the_names_of_its_jobs_and_the_rest_of_the_call() {
        let (one, two) = ("far/7.n1:bg_1", "far/7.n2:bg_1");
        let input = json!({"action": "wait", "jobs": [one, two, "what"], "timeout": 3});
        let parts = parts(&input, &sites(&[one, two]));
        let told: Vec<Value> = parts
            .iter()
            .map(|(_, text)| serde_json::from_str(text).unwrap())
            .collect();
        let first = json!({"action": "wait", "jobs": [one, "what"], "timeout": 3});
        let second = json!({"action": "wait", "jobs": [two], "timeout": 3});
        assert_eq!(told, [first, second]);
    }

    #[test]
    fn a_call_that_cancels_here_and_polls_there_does_each_where_it_belongs() {
        let (one, two) = ("far/7.n1:bg_1", "far/7.n2:bg_1");
        let input = json!({"cancel": [one], "poll": [two]});
        let told: Vec<String> = parts(&input, &sites(&[one, two]))
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        let wanted = [json!({"cancel": [one]}), json!({"poll": [two]})];
        assert_eq!(told, wanted.map(|part| part.to_string()));
    }

    #[test]
    fn whether_the_first_answer_is_enough_is_the_call_s_to_say() {
        let first = [
            json!({"action": "wait", "jobs": ["a", "b"], "any": true}),
            json!({"poll": ["a", "b"]}),
            json!({}),
        ];
        let all = [
            json!({"action": "wait", "jobs": ["a", "b"]}),
            json!({"action": "list"}),
            json!({"cancel": ["a"]}),
            json!({"list": true}),
        ];
        for input in first {
            assert_eq!(PartsWanted::of(&input), PartsWanted::First, "{input}");
        }
        for input in all {
            assert_eq!(PartsWanted::of(&input), PartsWanted::All, "{input}");
        }
    }

    #[test]
    fn answers_become_one_and_a_node_without_jobs_says_nothing() {
        let none = reply("There are no jobs.", &json!([]));
        let one = reply("bg_1: running", &json!([{"alias": "bg_1"}]));
        let two = reply("bg_2: running", &json!([{"alias": "bg_2"}]));
        let all = together(vec![none.clone(), one, two]);
        assert_eq!(all.text, "bg_1: running\nbg_2: running");
        assert_eq!(all.result["jobs"].as_array().unwrap().len(), 2);
        assert_eq!(
            together(vec![none.clone(), none]).text,
            "There are no jobs."
        );
    }

    #[test]
    fn a_node_that_does_not_answer_is_an_error_beside_the_others() {
        let one = reply("bg_1: running", &json!([{"alias": "bg_1"}]));
        let lost = Reply {
            text: "no route".to_owned(),
            error: Some("no route".to_owned()),
            is_error: true,
            ..Reply::default()
        };
        let all = together(vec![one, lost]);
        assert!(all.is_error);
        assert_eq!(all.text, "bg_1: running\nno route");
        assert_eq!(all.error.as_deref(), Some("no route"));
    }
}
