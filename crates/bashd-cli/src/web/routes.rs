//! Which address is what. The page's own files are for everybody of this user; everything else is
//! for browsers that were let in.

use super::access::{self, TurnedAway};
use super::answer::{self, WebAnswer};
use super::browsers::ShownPass;
use super::runs::{NotDone, SliceWish};
use super::{WebServer, assets, browsers, effects, looks};
use crate::serve::door::Guest;
use bashd::approval::ApprovalAnswer;
use bashd::feed::FeedPlace;
use futures::stream;
use http_body_util::{BodyExt, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{HeaderValue, SET_COOKIE};
use hyper::{Method, Request, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;

/// Bytes of a request at most.
const LONGEST: usize = 256 * 1024;

/// Answers one request.
pub(super) async fn answer(
    server: &Arc<WebServer>,
    guest: &Guest,
    request: Request<Incoming>,
) -> WebAnswer {
    let host = match host_of(server, &request) {
        Ok(host) => host,
        Err(why) => return answer::plain(StatusCode::FORBIDDEN, why),
    };
    let path = request.uri().path();
    if path == "/metrics" {
        return super::metrics::answer(server, &request);
    }
    if !path.starts_with("/api/") {
        let found = (request.method() == Method::GET).then(|| assets::get(path, request.headers()));
        let missing = || answer::plain(StatusCode::NOT_FOUND, "there is nothing here\n");
        return found.flatten().unwrap_or_else(missing);
    }
    if let Err(why) = server
        .access
        .check_origin(request.method(), request.headers(), &host)
    {
        return answer::plain(StatusCode::FORBIDDEN, why);
    }
    if path == "/api/enter" && request.method() == Method::POST {
        return enter(server, &host, request).await;
    }
    if !is_let_in(server, &request, &host).await {
        let why = "follow the link that `bashd web` printed\n";
        return answer::plain(StatusCode::UNAUTHORIZED, why);
    }
    guest.welcome().await;
    admitted(server, request).await
}

fn host_of(server: &WebServer, request: &Request<Incoming>) -> Result<String, TurnedAway> {
    server.access.host(request.headers())
}

/// Whether a request is from a browser that was let in, here or by another server of this user.
async fn is_let_in(server: &Arc<WebServer>, request: &Request<Incoming>, host: &str) -> bool {
    let Some(shown) = ShownPass::of(request.headers(), host) else {
        return false;
    };
    if server.browsers.knows(&shown) {
        return true;
    }
    let (shown, asked) = (Arc::new(shown), Arc::clone(server));
    let again = Arc::clone(&shown);
    looks::BROWSERS
        .look(move || asked.browsers.look_again(&again))
        .await;
    server.browsers.knows(&shown)
}

/// Exchanges the token for what a browser shows from then on.
async fn enter(server: &Arc<WebServer>, host: &str, request: Request<Incoming>) -> WebAnswer {
    #[derive(Deserialize)]
    struct Token {
        token: String,
    }
    let is_secure = access::is_secure(request.headers());
    let token = match body::<Token>(request).await {
        Ok(token) => token.token,
        Err(refusal) => return refusal,
    };
    let Some(pass) = server.browsers.enter(&token) else {
        let why = "this link was used, or is not the latest that `bashd web` printed\n";
        return answer::plain(StatusCode::UNAUTHORIZED, why);
    };
    let keeping = Arc::clone(server);
    looks::BROWSERS.look(move || keeping.browsers.keep()).await;
    server.tell_link("a browser came in; the next by ");
    let mut answer = answer::json(&json!({"key": pass.key}));
    let secure = if is_secure { "; Secure" } else { "" };
    if let Ok(cookie) = HeaderValue::from_str(&browsers::cookie(&pass, host, secure)) {
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
    answer
}

/// The address of a browser that was let in.
async fn admitted(server: &Arc<WebServer>, request: Request<Incoming>) -> WebAnswer {
    let (path, query) = (request.uri().path(), request.uri().query());
    let (path, query) = (path.to_owned(), query.unwrap_or_default().to_owned());
    let words: Vec<&str> = path.trim_start_matches("/api/").split('/').collect();
    let is_post = request.method() == Method::POST;
    match (is_post, words.as_slice()) {
        (false, ["now"]) => now(server, &request).await,
        (false, ["runs", id]) => shown(server.runs.describe(id, server.board.row(id)).await),
        (false, ["runs", id, "tree"]) => shown(server.runs.tree(id).await),
        (false, ["runs", id, "output"]) => output(server, id, &query).await,
        (true, ["past"]) => match body(request).await {
            Ok(wish) => shown(server.past.search(wish).await),
            Err(refusal) => refusal,
        },
        (true, ["past", "sums"]) => match body(request).await {
            Ok(wish) => shown(server.past.sums(wish).await),
            Err(refusal) => refusal,
        },
        (false, ["past", id]) => shown(server.past.describe(id).await),
        (false, ["past", id, "cast"]) => match server.past.cast(id).await {
            Ok(cast) => answer::bytes(StatusCode::OK, "application/octet-stream", cast),
            Err(failure) => refused(failure),
        },
        (true, ["runs", id, deed]) => match body(request).await {
            Ok(wish) => shown(server.runs.do_to(id, deed, wish).await),
            Err(refusal) => refusal,
        },
        (false, ["asks", id]) => shown(effects::asked(server, id).await),
        (true, ["asks", id]) => decide(server, id, request).await,
        _ => answer::plain(StatusCode::NOT_FOUND, "there is nothing here\n"),
    }
}

/// The stream of what happens.
async fn now(server: &Arc<WebServer>, request: &Request<Incoming>) -> WebAnswer {
    let from = request.headers().get("last-event-id");
    let from = from.and_then(|place| place.to_str().ok()?.parse::<FeedPlace>().ok());
    let follower = server.board.follow(from).await;
    let board = Arc::clone(&server.board);
    let pieces = stream::unfold((follower, board), |(mut follower, board)| async move {
        let piece = follower.next(&board).await?;
        Some((Ok::<_, Infallible>(Frame::data(piece)), (follower, board)))
    });
    let pieces = std::sync::Mutex::new(Box::pin(pieces));
    let body = StreamBody::new(stream::poll_fn(move |context| {
        use futures::Stream;
        let mut pieces = pieces
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        pieces.as_mut().poll_next(context)
    }));
    answer::of_body(StatusCode::OK, "text/event-stream", BodyExt::boxed(body))
}

/// A slice of a run's output, as bytes with its place in the headers.
async fn output(server: &WebServer, id: &str, query: &str) -> WebAnswer {
    let cut = match server.runs.slice(id, SliceWish::of(query)).await {
        Ok(cut) => cut,
        Err(failure) => return refused(failure),
    };
    let slice = cut.slice;
    let numbers = [
        ("x-bashd-offset", slice.offset),
        ("x-bashd-next", slice.next_offset),
        ("x-bashd-total", slice.total),
        ("x-bashd-written", slice.written),
        ("x-bashd-dropped", slice.dropped),
        ("x-bashd-skipped", slice.skipped),
        ("x-bashd-alive", u64::from(cut.is_alive)),
    ];
    let mut answer = answer::bytes(StatusCode::OK, "application/octet-stream", slice.bytes);
    for (name, number) in numbers {
        answer.headers_mut().insert(name, HeaderValue::from(number));
    }
    answer
}

/// A person's answer to a question.
async fn decide(server: &WebServer, id: &str, request: Request<Incoming>) -> WebAnswer {
    #[derive(Deserialize)]
    struct Answer {
        answer: String,
    }
    let word = match body::<Answer>(request).await {
        Ok(answer) => answer.answer,
        Err(refusal) => return refusal,
    };
    // A slip must not count as a no.
    let is_word = |(known, _): &(&str, ApprovalAnswer)| *known == word;
    let Some((_, answer)) = ApprovalAnswer::CHOICES.into_iter().find(is_word) else {
        return answer::plain(StatusCode::BAD_REQUEST, "there is no such answer\n");
    };
    match server.runs.deeds().answer(id, answer).await {
        Ok(said) => answer::json(&json!({"said": said})),
        Err(why) => answer::plain(StatusCode::CONFLICT, why),
    }
}

fn shown(done: Result<serde_json::Value, NotDone>) -> WebAnswer {
    match done {
        Ok(value) => answer::json(&value),
        Err(failure) => refused(failure),
    }
}

fn refused(failure: NotDone) -> WebAnswer {
    match failure {
        NotDone::Missing(why) => answer::plain(StatusCode::NOT_FOUND, why),
        NotDone::Bad(why) => answer::plain(StatusCode::BAD_REQUEST, why),
        NotDone::Not(why) => answer::plain(StatusCode::CONFLICT, why),
    }
}

/// What a request brings.
async fn body<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, WebAnswer> {
    let bad = |why: String| answer::plain(StatusCode::BAD_REQUEST, why);
    let is_json = request
        .headers()
        .get("content-type")
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if !is_json {
        let why = "JSON is expected\n";
        return Err(answer::plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    let collected = Limited::new(request.into_body(), LONGEST).collect().await;
    let bytes: Bytes = match collected {
        Ok(collected) => collected.to_bytes(),
        Err(error) => return Err(bad(error.to_string())),
    };
    serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))
}
