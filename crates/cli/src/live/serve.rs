//! A page and its events over HTTP, for browsers on this machine alone.
//!
//! The socket is bound to the loopback address. A page of another origin could still have its reader's browser ask
//! there, under a name of its own that leads to this address; so requests that name another host or origin are refused,
//! and there is nothing that a request could change.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use std::vec::IntoIter;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::{Iter, Stream, StreamExt, iter, unfold};
use tokio::sync::watch;

use crate::failure::Failure;

/// How long pages have to take what they are told last.
const PATIENCE: Duration = Duration::from_secs(2);

/// What browsers are to do with every answer.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// What there is to tell. A page that is slow is told the latest, not everything.
#[derive(Clone, Default)]
struct Latest {
    /// JSON, or nothing yet.
    progress: Arc<str>,
    report: Arc<str>,
    /// How many reports there have been.
    reports: u64,
    over: bool,
}

/// Serves, on a thread of its own.
pub(super) struct Server {
    address: SocketAddr,
    latest: watch::Sender<Latest>,
    thread: JoinHandle<()>,
}

/// What requests need.
struct Shared {
    page: String,
    /// Names under which a browser may ask.
    hosts: [String; 2],
    latest: watch::Sender<Latest>,
}

impl Server {
    /// Begins to serve a page; port 0 is any that is free.
    ///
    /// # Errors
    /// If the port is in use, or the system refuses a socket or a thread.
    pub(super) fn begin(page: String, port: u16) -> Result<Self, Failure> {
        let refused = |error: std::io::Error| {
            let failure = Failure::new(format!("--live: 127.0.0.1:{port}: {error}"));
            match error.kind() {
                ErrorKind::AddrInUse => failure
                    .hint("another program listens there; without --port, a free one is taken"),
                ErrorKind::PermissionDenied => {
                    failure.hint("ports below 1024 are the system's; take a higher one")
                }
                _ => failure,
            }
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(refused)?;
        let latest = watch::Sender::new(Latest::default());
        let port = address.port();
        let shared = Arc::new(Shared {
            page,
            hosts: ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}")),
            latest: latest.clone(),
        });
        let work = move || runtime.block_on(serve(listener, shared));
        let thread = std::thread::Builder::new()
            .name("live".into())
            .spawn(work)
            .map_err(refused)?;
        Ok(Self {
            address,
            latest,
            thread,
        })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether a page hears its events: one listener is the server itself, which waits for the end.
    pub(super) fn is_watched(&self) -> bool {
        self.latest.receiver_count() > 1
    }

    pub(super) fn tell_progress(&self, json: String) {
        self.latest
            .send_modify(|latest| latest.progress = json.into());
    }

    pub(super) fn tell_report(&self, json: String) {
        self.latest.send_modify(|latest| {
            latest.report = json.into();
            latest.reports += 1;
        });
    }

    /// Ends when all pages have been told, or have had time to take it.
    pub(super) fn end(self) {
        self.latest.send_modify(|latest| latest.over = true);
        // Whatever became of the thread, the run has its results.
        let _ = self.thread.join();
    }
}

/// Serves until the run is over.
async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let mut heard = shared.latest.subscribe();
    let app = Router::new()
        .route("/", get(page))
        .route("/events", get(events))
        .with_state(Arc::clone(&shared))
        .layer(middleware::from_fn_with_state(shared, guard));
    let (over, mut is_over) = watch::channel(false);
    let ended = async move {
        // An error is that nobody will tell any more.
        let _ = heard.wait_for(|latest| latest.over).await;
        let _ = over.send(true);
    };
    let late = async move {
        let _ = is_over.wait_for(|over| *over).await;
        tokio::time::sleep(PATIENCE).await;
    };
    let served = axum::serve(listener, app).with_graceful_shutdown(ended);
    tokio::select! {
        _ = async { served.await } => {}
        () = late => {}
    }
}

/// Refuses what comes under another name or from another page.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let mut response = match refusal(&shared.hosts, request.headers()) {
        Some(why) => (StatusCode::FORBIDDEN, why).into_response(),
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

/// Why a request isn't answered, if it isn't.
fn refusal(hosts: &[String; 2], headers: &HeaderMap) -> Option<&'static str> {
    let only = |name: HeaderName| {
        let mut values = headers.get_all(name).iter();
        let first = values.next();
        (first, values.next().is_none())
    };
    let names = |value: &HeaderValue, prefix: &str| {
        let text = value.to_str().unwrap_or_default();
        let host = text.strip_prefix(prefix);
        host.is_some_and(|host| hosts.iter().any(|own| own == host))
    };
    match only(header::HOST) {
        (Some(host), true) if names(host, "") => {}
        _ => return Some("another host was asked for\n"),
    }
    match only(header::ORIGIN) {
        (None, _) => None,
        (Some(origin), true) if names(origin, "http://") => None,
        _ => Some("another page asks\n"),
    }
}

async fn page(State(shared): State<Arc<Shared>>) -> Html<String> {
    Html(shared.page.clone())
}

async fn events(State(shared): State<Arc<Shared>>) -> Sse<impl Stream<Item = Told>> {
    let mut heard = shared.latest.subscribe();
    heard.mark_changed();
    Sse::new(unfold(Some((heard, 0)), news).flatten())
}

type Told = Result<Event, Infallible>;

/// A page that hears events, with the number of the report that it has; none if nothing more will come.
type Listener = Option<(watch::Receiver<Latest>, u64)>;

/// What is new, as events.
async fn news(listener: Listener) -> Option<(Iter<IntoIter<Told>>, Listener)> {
    let (mut heard, reports) = listener?;
    heard.changed().await.ok()?;
    let latest = heard.borrow_and_update().clone();
    let mut told = Vec::new();
    let mut tell = |name: &str, json: &str| told.push(Ok(Event::default().event(name).data(json)));
    if !latest.progress.is_empty() {
        tell("progress", &latest.progress);
    }
    if latest.reports > reports {
        tell("report", &latest.report);
    }
    if latest.over {
        tell("end", "{}");
    }
    let listener = (!latest.over).then_some((heard, latest.reports));
    Some((iter(told), listener))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(headers: &[(HeaderName, &'static str)]) -> Option<&'static str> {
        let hosts = ["127.0.0.1:80".to_owned(), "localhost:80".to_owned()];
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_static(value));
        }
        refusal(&hosts, &map)
    }

    #[test]
    fn only_this_machines_own_names_are_answered() {
        let (host, origin) = (header::HOST, header::ORIGIN);
        let named = |name| (host.clone(), name);
        assert_eq!(asked(&[named("localhost:80")]), None);
        assert_eq!(asked(&[named("127.0.0.1:80")]), None);
        for other in [
            "evil.example:80",
            "localhost",
            "localhost:81",
            "",
            "127.0.0.1:80.evil.example",
        ] {
            assert!(asked(&[named(other)]).is_some(), "{other}");
        }
        assert!(asked(&[]).is_some());
        assert!(asked(&[named("localhost:80"), named("evil.example")]).is_some());
        let from = |page| asked(&[named("localhost:80"), (origin.clone(), page)]);
        assert_eq!(from("http://localhost:80"), None);
        for other in [
            "http://evil.example",
            "null",
            "https://localhost:80",
            "http://localhost:81",
        ] {
            assert!(from(other).is_some(), "{other}");
        }
    }
}
