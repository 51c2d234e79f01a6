//! The request data that routes match.

use std::net::IpAddr;

use crate::{HeaderTable, RequestHead, Scheme};

/// Query key of a resumable upload in storage areas.
const UPLOAD_KEY: &[u8] = b"weir-upload=";

/// The parts of a request that routes match.
#[derive(Debug, Clone, Copy)]
pub struct RouteRequest<'a> {
    /// Method.
    pub method: &'a [u8],
    /// Host, with or without port; empty = none.
    pub host: &'a [u8],
    /// Path without query in the form that rules compare: [`crate::NormalPath::compared`].
    pub path: &'a [u8],
    /// Path without query in the form for the server.
    pub forwarded_path: &'a [u8],
    /// Query without `?`.
    pub query: Option<&'a [u8]>,
    /// Buffer that `headers` was parsed from.
    pub buf: &'a [u8],
    /// Header lines.
    pub headers: &'a HeaderTable,
    /// Client address, from [`crate::Forwarder::client_address`].
    pub client: Option<IpAddr>,
    /// Scheme of the client's connection.
    pub scheme: Scheme,
    /// Name of the listener.
    pub listener: &'a str,
}

impl<'a> RouteRequest<'a> {
    /// Borrows the parts from a parsed head; its path is compared as it is.
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

    /// Replaces the path to compare, if there is another one.
    #[must_use]
    pub fn comparing(self, path: Option<&'a [u8]>) -> Self {
        Self { path: path.unwrap_or(self.path), ..self }
    }

    /// Returns true if the client could not continue with the request at another host:
    ///
    /// - The request comes from a script of a page, which may not follow a redirect to another host (Fetch
    ///   standard).
    /// - The request belongs to a resumable upload (draft-ietf-httpbis-resumable-upload-11). The upload
    ///   exists only at the host where it began, and a client sends its credentials to no other host. A
    ///   request for the offset, or to cancel the upload, is recognised by the key in the query.
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
