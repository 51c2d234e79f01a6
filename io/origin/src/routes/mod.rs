//! Routes of the test web server.

mod echo;
mod fault;
mod page;
mod sized;
mod stream;
mod upgrade;
mod upload;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::{mpsc, watch};

use crate::body::{Fault, OriginBody};
use crate::connection::Control;
use crate::handle::Phase;
use crate::query::{BadParameter, Query};
use crate::state::State;

/// Longest wait of any route between two bytes.
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// Context of a request.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub(crate) state: Arc<State>,
    pub(crate) control: Arc<Control>,
    pub(crate) phase: watch::Receiver<Phase>,
    /// Held as long as the connection is in use.
    pub(crate) alive: mpsc::Sender<Infallible>,
}

type Answer = Result<Response<OriginBody>, Refusal>;

/// Reason why a route gives no regular response.
#[derive(Debug)]
enum Refusal {
    /// 404.
    NotFound,
    /// 400 with the reason.
    Bad(String),
    /// 405.
    Method,
    /// 413.
    TooLarge,
    /// No response: the connection ends as the route has set in its [`Control`].
    Fault,
}

/// Handles one request.
///
/// # Errors
/// A [`Fault`] that the client requested; the connection is to be dropped.
pub(crate) async fn answer(request: Request<Incoming>, visit: Visit) -> Result<Response<OriginBody>, Fault> {
    let state = Arc::clone(&visit.state);
    let path = request.uri().path().to_owned();
    let answer = if path == "/health" {
        state.counters.checks.add_one();
        page::health(&request, &state)
    } else {
        state.counters.requests.add_one();
        let _counted = Answered(&state);
        if let Some(gate) = &state.gate {
            gate.pass().await;
        }
        dispatch(&path, request, visit).await
    };
    let mut response = match answer {
        Ok(response) => response,
        Err(Refusal::Fault) => return Err(Fault),
        Err(refusal) => refusal.into_response(),
    };
    if let Ok(name) = HeaderValue::from_str(&state.name) {
        response.headers_mut().insert(HeaderName::from_static("x-origin"), name);
    }
    Ok(response)
}

async fn dispatch(path: &str, request: Request<Incoming>, visit: Visit) -> Answer {
    let owned_query = request.uri().query().map(str::to_owned);
    let query = Query::new(owned_query.as_deref());
    let (first, rest) = match path.trim_start_matches('/').split_once('/') {
        Some((first, rest)) => (first, rest),
        None => (path.trim_start_matches('/'), ""),
    };
    match first {
        "" => Ok(page::home(&request, &visit.state)),
        "bytes" => sized::bytes(rest, query),
        "headers" => sized::headers(query),
        "status" => sized::status(rest),
        "delay" => stream::delay(rest).await,
        "stream" => stream::chunks(query),
        "slow" => stream::slow(query),
        "sse" => stream::events(query),
        "echo" => echo::echo(request, query.flag("json")).await,
        "upload" => upload::upload(request, query).await,
        "ws" => upgrade::websocket(request, visit),
        "early" => fault::early(query),
        "hang" => fault::hang().await,
        "close" => fault::close(),
        "reset" => fault::reset(&visit.control),
        "garbage" => fault::garbage(&visit.control),
        "close-mid-body" => fault::close_mid_body(query, visit.control),
        "reset-mid-body" => fault::reset_mid_body(query, visit.control),
        "hang-mid-body" => fault::hang_mid_body(query),
        _ => Err(Refusal::NotFound),
    }
}

/// Counts a request as answered once its response is known or its client has gone.
struct Answered<'a>(&'a State);

impl Drop for Answered<'_> {
    fn drop(&mut self) {
        self.0.counters.answered.add_one();
    }
}

impl Refusal {
    fn into_response(self) -> Response<OriginBody> {
        let (status, text) = match self {
            Self::NotFound => (StatusCode::NOT_FOUND, "no such route; GET / lists them\n".to_owned()),
            Self::Bad(reason) => (StatusCode::BAD_REQUEST, format!("{reason}\n")),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "not with this method\n".to_owned()),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "body too large for this route\n".to_owned()),
            Self::Fault => (StatusCode::INTERNAL_SERVER_ERROR, String::new()),
        };
        with_status(status, "text/plain; charset=utf-8", text)
    }
}

impl From<BadParameter> for Refusal {
    fn from(bad: BadParameter) -> Self {
        Self::Bad(format!("parameter {}: {:?} is not a number in range", bad.name, bad.value))
    }
}

/// Returns a 200 with a whole body.
fn ok(content_type: &'static str, body: impl Into<Bytes>) -> Response<OriginBody> {
    with_status(StatusCode::OK, content_type, body)
}

fn with_status(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<OriginBody> {
    let mut response = Response::new(OriginBody::whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Parses a number in the path, as in `/bytes/1024`.
fn number_in_path<T: std::str::FromStr>(text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|_| Refusal::Bad(format!("{text:?} in the path is not a number in range")))
}

/// Returns the given number of milliseconds, at most [`WAIT_MAX`].
fn wait(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds).min(WAIT_MAX)
}

fn is_read(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}
