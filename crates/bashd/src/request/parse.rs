//! From a profile's JSON input to a [`Request`].

use super::{OnTimeout, Refusal, RefusalKind, Request, validate};
use crate::plan::StdinSource;
use crate::profile::Profile;
use crate::profile::parameters::{BareString, Parameter, Sets, Types};
use serde_json::{Map, Value};
use std::time::Duration;

/// Reads the JSON input of a call in the profile's spelling.
///
/// The result has also passed [`validate`]. `null` counts as not given.
pub fn parse(profile: &Profile, input: &str) -> Result<Request, Refusal> {
    parse_over(profile, input, Request::default())
}

/// Reads the JSON input of a call over what its front end fills in.
///
/// What a front end would do at the timeout, and how long it would wait, count only in profiles that
/// know the choice: in others the limit is part of their contract.
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
        on_timeout: defaults.on_timeout.filter(|_| profile.has(Sets::OnTimeout)),
        wait_max: defaults.wait_max.filter(|_| profile.has(Sets::WaitMax)),
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
    refuse_unknown(profile, values)?;
    for parameter in &profile.parameters {
        if let Some((name, value)) = chosen(profile.input.types, parameter, values) {
            set(request, parameter.sets, name, value)?;
        } else if parameter.required && parameter.sets != Sets::Command {
            let detail = format!("`{}` is required", parameter.name);
            return Err(Refusal::new(RefusalKind::InvalidValue, detail));
        }
    }
    Ok(())
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
        Refusal::new(RefusalKind::UnknownParameter, name)
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
            !blank && set(&mut Request::default(), parameter.sets, name, value).is_ok()
        }),
    }
}

/// Sets the parameter's field, if the value has the right type.
fn set(request: &mut Request, sets: Sets, name: &str, value: &Value) -> Result<(), Refusal> {
    let text = || match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(wrong_type(name, "a string", other)),
    };
    match sets {
        Sets::Command => request.command = text()?,
        Sets::Cwd => {
            let given = Some(text()?).filter(|cwd| !cwd.is_empty());
            request.cwd = given.map(Into::into).or_else(|| request.cwd.take());
        }
        Sets::Stdin => request.stdin = StdinSource::Bytes(text()?.into_bytes()),
        Sets::Mode => request.mode = Some(text()?),
        Sets::Session => request.session = Some(text()?),
        Sets::Timeout => {
            request.timeout = Some(seconds(name, value)?);
            request.timeout_as_given = value.as_f64();
        }
        Sets::WaitMax => request.wait_max = Some(seconds(name, value)?),
        Sets::Background => request.background |= truth(name, value)?,
        Sets::StdinOpen => request.stdin_open |= truth(name, value)?,
        Sets::Pty => request.pty |= truth(name, value)?,
        Sets::Head => request.head = Some(lines(name, value)?),
        Sets::Tail => request.tail = Some(lines(name, value)?),
        Sets::OnTimeout => {
            let word = text()?;
            request.on_timeout = Some(OnTimeout::from_name(&word).ok_or_else(|| {
                let names = OnTimeout::NAMES.join(", ");
                let detail = format!("`{name}` must be one of {names}, not `{word}`");
                Refusal::new(RefusalKind::InvalidValue, detail)
            })?);
        }
        Sets::Env => {
            let Value::Object(variables) = value else {
                return Err(wrong_type(name, "an object", value));
            };
            for (variable, value) in variables {
                let Value::String(text) = value else {
                    let name = format!("{name}.{variable}");
                    return Err(wrong_type(&name, "a string", value));
                };
                request.env.push((variable.into(), text.into()));
            }
        }
    }
    Ok(())
}

fn seconds(name: &str, value: &Value) -> Result<Duration, Refusal> {
    let number = value.as_f64();
    let number = number.ok_or_else(|| wrong_type(name, "a number", value))?;
    Ok(duration(number))
}

fn truth(name: &str, value: &Value) -> Result<bool, Refusal> {
    value
        .as_bool()
        .ok_or_else(|| wrong_type(name, "a boolean", value))
}

/// A count of lines. JSON has only numbers: `5.0` is five.
fn lines(name: &str, value: &Value) -> Result<u64, Refusal> {
    let number = value.as_f64();
    let number = number.ok_or_else(|| wrong_type(name, "a number", value))?;
    if number < 0.0 || number.fract() != 0.0 {
        let detail = format!("`{name}` must be a whole number of lines, not {value}");
        return Err(Refusal::new(RefusalKind::InvalidValue, detail));
    }
    Ok(value.as_u64().unwrap_or(number as u64))
}

/// Seconds as a duration; what no duration can express becomes the nearest one, for the clamp.
fn duration(seconds: f64) -> Duration {
    if seconds <= 0.0 {
        return Duration::ZERO;
    }
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

fn wrong_type(name: &str, expected: &str, value: &Value) -> Refusal {
    let detail = format!("`{name}` must be {expected}, not {}", kind_of(value));
    Refusal::new(RefusalKind::WrongType, detail)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
