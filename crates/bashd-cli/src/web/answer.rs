//! Answers as every address gives them: with what they forbid, and never kept by the browser.

use super::access::ALWAYS;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use std::convert::Infallible;

/// An answer.
pub(super) type WebAnswer = Response<BoxBody<Bytes, Infallible>>;

/// An answer with these bytes.
pub(super) fn bytes(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> WebAnswer {
    of_body(status, kind, Full::new(body.into()).boxed())
}

/// An answer with this body.
pub(super) fn of_body(
    status: StatusCode,
    kind: &'static str,
    body: BoxBody<Bytes, Infallible>,
) -> WebAnswer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in ALWAYS {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    answer
}

/// A sentence.
pub(super) fn plain(status: StatusCode, text: impl Into<Bytes>) -> WebAnswer {
    bytes(status, "text/plain; charset=utf-8", text)
}

/// Data.
pub(super) fn json(value: &impl Serialize) -> WebAnswer {
    match serde_json::to_vec(value) {
        Ok(text) => bytes(StatusCode::OK, "application/json", text),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}
