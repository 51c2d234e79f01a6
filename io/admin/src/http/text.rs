//! A single text over HTTP.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use tokio::task::JoinSet;

use super::places::PLACES_MAX;
use super::server::{pause_after_failure, serve_connection};

/// One changing text over HTTP, for programs that have nothing else to show.
pub struct TextHttp {
    listener: TcpListener,
    path: &'static str,
    content_type: &'static str,
    text: Text,
}

/// Function that returns the current text.
type Text = Box<dyn Fn() -> String + Send + Sync>;

impl TextHttp {
    /// Listens. Errors name the address.
    pub fn bind(
        address: SocketAddr,
        path: &'static str,
        content_type: &'static str,
        text: Text,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)
            .map_err(|cause| io::Error::new(cause.kind(), format!("{address}: {cause}")))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path, content_type, text })
    }

    /// Returns the address, for callers that bound port 0.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Starts a thread that answers until the process ends.
    pub fn spawn(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("text-http".to_owned()).spawn(move || runtime.block_on(self.serve()))?;
        Ok(())
    }

    async fn serve(self) {
        let Self { listener, path, content_type, text } = self;
        let text = Arc::new(text);
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok((stream, _)) = listener.accept().await else {
                pause_after_failure().await;
                continue;
            };
            // Connections above the limit are closed at once.
            if connections.len() < PLACES_MAX {
                let text = Arc::clone(&text);
                let service = service_fn(move |request: hyper::Request<_>| {
                    let known = request.uri().path() == path;
                    let response = answer(request.method(), known, content_type, &**text);
                    async { Ok::<_, Infallible>(response) }
                });
                connections.spawn(serve_connection(stream, service));
            }
        }
    }
}

fn answer(
    method: &Method,
    known: bool,
    content_type: &'static str,
    text: &dyn Fn() -> String,
) -> Response<Full<Bytes>> {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let (status, body, content_type) = match (known, is_read) {
        (true, true) => (StatusCode::OK, text(), content_type),
        (true, false) => (StatusCode::METHOD_NOT_ALLOWED, "GET and HEAD\n".to_owned(), "text/plain"),
        (false, _) => (StatusCode::NOT_FOUND, "not found\n".to_owned(), "text/plain"),
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

impl std::fmt::Debug for TextHttp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextHttp")
            .field("listener", &self.listener)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .write_all(format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_text_as_it_is_now_is_at_its_path_and_nowhere_else() {
        let count = std::sync::atomic::AtomicU32::new(0);
        let text = move || format!("n {}\n", count.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let http =
            TextHttp::bind("127.0.0.1:0".parse().unwrap(), "/metrics", "text/plain; x=1", Box::new(text))
                .unwrap();
        let address = http.local_address().unwrap();
        http.spawn().unwrap();
        let first = ask(address, "GET /metrics");
        assert!(
            first.starts_with("HTTP/1.1 200")
                && first.contains("text/plain; x=1")
                && first.ends_with("n 0\n"),
            "{first}"
        );
        assert!(ask(address, "GET /metrics").ends_with("n 1\n"));
        assert!(ask(address, "GET /").starts_with("HTTP/1.1 404"));
        assert!(ask(address, "POST /metrics").starts_with("HTTP/1.1 405"));
    }
}
