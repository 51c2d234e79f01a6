use std::net::IpAddr;

use crate::{HeaderTable, RequestHead, Scheme};

/// The key in the query of an upload that can be resumed, as storage areas have it.
const UPLOAD_KEY: &[u8] = b"weir-upload=";

/// What routes look at.
#[derive(Debug, Clone, Copy)]
pub struct RouteRequest<'a> {
    /// Method.
    pub method: &'a [u8],
    /// Host, with or without port; empty = none.
    pub host: &'a [u8],
    /// Path, without query, as rules compare it: [`crate::NormalPath::compared`].
    pub path: &'a [u8],
    /// Path, without query, as its server gets it.
    pub forwarded_path: &'a [u8],
    /// Query, without `?`.
    pub query: Option<&'a [u8]>,
    /// The buffer that `headers` was filled from.
    pub buf: &'a [u8],
    /// Header lines.
    pub headers: &'a HeaderTable,
    /// The client, from [`crate::Forwarder::client_address`].
    pub client: Option<IpAddr>,
    /// What the client speaks.
    pub scheme: Scheme,
    /// Name of the listener.
    pub listener: &'a str,
}

impl<'a> RouteRequest<'a> {
    /// Of a parsed head, whose path is compared as it stands.
    pub fn of(
        head: &RequestHead,
        buf: &'a [u8],
        headers: &'a HeaderTable,
        client: Option<IpAddr>,
        scheme: Scheme,
        listener: &'a str,
    ) -> Self {
        Self {
            method: head.method.bytes(buf),
            host: head.host.map(|host| host.of(buf)).unwrap_or_default(),
            path: head.target.path_or_root(buf),
            forwarded_path: head.target.path_or_root(buf),
            query: head.target.query.map(|query| query.of(buf)),
            buf,
            headers,
            client,
            scheme,
            listener,
        }
    }

    /// The same, with another path to compare.
    #[must_use]
    pub fn comparing(self, path: Option<&'a [u8]>) -> Self {
        Self { path: path.unwrap_or(self.path), ..self }
    }

    /// Whether its client could not go on with it at another host. A script of a page may not follow there (Fetch standard). An
    /// upload that can be resumed (draft-ietf-httpbis-resumable-upload-11) has its place at the host where it was begun, to which
    /// its client has no credentials to send by then; who only asks how far it is, or ends it, says so by the URL alone.
    pub fn stays_here(&self) -> bool {
        let is_of_script = |value: &[u8]| value == b"cors" || value == b"same-origin";
        let mut modes = self.headers.named(self.buf, b"sec-fetch-mode");
        modes.any(|line| is_of_script(line.value().of(self.buf)))
            || self.headers.named(self.buf, b"upload-complete").next().is_some()
            || self.query.is_some_and(is_of_upload)
    }
}

fn is_of_upload(query: &[u8]) -> bool {
    query.split(|byte| *byte == b'&').any(|part| part.starts_with(UPLOAD_KEY))
}
