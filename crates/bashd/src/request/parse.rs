//! From a profile's JSON input to a [`Request`].

use super::{Refusal, RefusalKind, Request, validate};
use crate::profile::parameters::{BareString, Parameter, Types};
use crate::profile::sets::{Sets, kind_of};
use crate::profile::{Profile, arguments};
use serde_json::{Map, Value};

/// Reads the JSON input of a call in the profile's spelling.
///
/// The result has also passed [`validate`]. `null` counts as not given.
pub fn parse(profile: &Profile, input: &str) -> Result<Request, Refusal> {
    parse_over(profile, input, Request::default())
}

/// Reads the JSON input of a call over what its front end fills in.
///
/// What a front end would do at the timeout, and how long it would wait, count only in profiles
/// that know the choice: in others the limit is part of their contract.
pub(crate) fn parse_over(
    profile: &Profile,
    input: &str,
    defaults: Request,
) -> Result<Request, Refusal> {
    let value: Value = serde_json::from_str(input)
        .map_err(|error| Refusal::new(RefusalKind::InvalidJson, error.to_string()))?;
    let mut request = Request {
        profile: profile.name.clone(),
        command: String::new(),
        timeout_as_given: None,
        on_timeout: defaults
            .on_timeout
            .filter(|_| profile.has(Sets::OnTimeout))
            .or(profile.limits.on_timeout),
        wait_max: defaults.wait_max.filter(|_| profile.has(Sets::WaitMax)),
        commands: Vec::new(),
        most_bytes: None,
        max_output: None,
        description: None,
        says_its_wait: false,
        is_input: false,
        ..defaults
    };
    match (value, profile.input.bare_string) {
        (Value::Object(values), _) => read_object(profile, &values, &mut request)?,
        (Value::String(command), BareString::Command) => request.command = command,
        (other, BareString::Command | BareString::Refused) => {
            let detail = format!("expected an object, not {}", kind_of(&other));
            return Err(Refusal::new(RefusalKind::NotAnObject, detail));
        }
    }
    validate(profile, &request)?;
    Ok(request)
}

fn read_object(
    profile: &Profile,
    values: &Map<String, Value>,
    request: &mut Request,
) -> Result<(), Refusal> {
    refuse_issues(profile, values)?;
    refuse_unknown(profile, values)?;
    for parameter in &profile.parameters {
        if let Some((name, value)) = chosen(profile.input.types, parameter, values) {
            parameter.sets.read(name, value, request)?;
        } else if parameter.required && parameter.sets != Sets::Command {
            let detail = format!("`{}` is required", parameter.name);
            return Err(Refusal::new(RefusalKind::InvalidValue, detail));
        }
    }
    Ok(())
}

/// Refuses everything that is wrong with the arguments at once, where the profile has words for
/// that.
fn refuse_issues(profile: &Profile, values: &Map<String, Value>) -> Result<(), Refusal> {
    if profile.refusals.issues.is_none() {
        return Ok(());
    }
    let parameters = profile.parameters.iter();
    let properties = parameters.map(|parameter| {
        let property = parameter.property(profile);
        (parameter.name.as_str(), property, parameter.required)
    });
    match Refusal::of_issues(arguments::issues(properties, values)) {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

fn refuse_unknown(profile: &Profile, values: &Map<String, Value>) -> Result<(), Refusal> {
    let known = |name: &str| {
        let mut names = profile.parameters.iter().flat_map(Parameter::names);
        names.any(|known| known == name)
    };
    let Some(name) = values.keys().find(|name| !known(name)) else {
        return Ok(());
    };
    Err(if profile.input.reserved.contains(name) {
        Refusal::new(RefusalKind::NotAvailable, format!("parameter `{name}`"))
    } else {
        Refusal::of_unknown(profile, name)
    })
}

/// The value that counts among a parameter's names: the first that is given, or, if types are
/// lenient, the first usable one.
fn chosen<'a>(
    types: Types,
    parameter: &'a Parameter,
    values: &'a Map<String, Value>,
) -> Option<(&'a str, &'a Value)> {
    let mut given = parameter
        .names()
        .filter_map(|name| Some((name, values.get(name)?)))
        .filter(|(_, value)| !value.is_null());
    match types {
        Types::Strict => given.next(),
        Types::Lenient => given.find(|(name, value)| {
            let blank = value.as_str().is_some_and(|text| text.trim().is_empty());
            !blank && {
                let mut scratch = Request::default();
                parameter.sets.read(name, value, &mut scratch).is_ok()
            }
        }),
    }
}

#[cfg(test)]
mod tests;
