//! The command line of ApacheBench (ab).

use std::path::PathBuf;

use super::Translated;

/// Take ApacheBench's command line, and report in its form
///
/// Statuses other than 2xx and 3xx are the server's failure (exit status 1), and bodies of another length than the first are not.
#[derive(Debug, clap::Args)]
pub(crate) struct AbArgs {
    /// URL to request.
    #[arg(value_name = "URL")]
    url: String,
    /// Requests [default: 1, with -t 50000].
    #[arg(short = 'n', value_name = "REQUESTS")]
    requests: Option<u64>,
    /// Requests at a time.
    #[arg(short = 'c', value_name = "CONCURRENCY", default_value = "1")]
    concurrency: u64,
    /// Longest run in seconds.
    #[arg(short = 't', value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Longest time of a request in seconds.
    #[arg(short = 's', value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Keep connections.
    #[arg(short = 'k')]
    keep_alive: bool,
    /// HEAD instead of GET.
    #[arg(short = 'i', conflicts_with_all = ["post", "put", "method"])]
    head: bool,
    /// POST this file.
    #[arg(short = 'p', value_name = "FILE", conflicts_with = "put")]
    post: Option<PathBuf>,
    /// PUT this file.
    #[arg(short = 'u', value_name = "FILE")]
    put: Option<PathBuf>,
    /// The type of what is sent.
    #[arg(short = 'T', value_name = "TYPE", default_value = "text/plain")]
    content_type: String,
    /// The method.
    #[arg(short = 'm', value_name = "METHOD")]
    method: Option<String>,
    /// A further header.
    #[arg(short = 'H', value_name = "HEADER")]
    header: Vec<String>,
    /// A cookie, as in name=value.
    #[arg(short = 'C', value_name = "COOKIE")]
    cookie: Vec<String>,
    /// Come from this address.
    #[arg(short = 'B', value_name = "ADDRESS")]
    source: Option<String>,
    /// Write every request to this file, for gnuplot.
    #[arg(short = 'g', value_name = "FILE")]
    gnuplot: Option<PathBuf>,
    /// Do not show how it goes.
    #[arg(short = 'q')]
    quiet: bool,
    /// No effect: bodies of any length are accepted.
    #[arg(short = 'l')]
    variable_length: bool,
    /// No effect: a broken connection never ends a run.
    #[arg(short = 'r')]
    go_on: bool,
    /// No effect.
    #[arg(short = 'S')]
    no_warnings: bool,
    /// No effect.
    #[arg(short = 'v', value_name = "LEVEL")]
    verbosity: Option<u8>,
}

/// Number of requests that ab sends with -t alone.
const REQUESTS_IN_TIME: u64 = 50_000;

impl AbArgs {
    /// Translates the options to those of `weir load`.
    pub(in crate::load) fn translated(&self) -> Result<Translated, String> {
        let requests = self.requests.unwrap_or(if self.seconds.is_some() { REQUESTS_IN_TIME } else { 1 });
        if self.concurrency > requests {
            return Err(format!("-c {} is more than the {requests} requests of -n", self.concurrency));
        }
        // Accepts any certificate, like ab.
        let mut words: Vec<String> = ["--report", "ab", "--insecure", "-c"].map(str::to_owned).to_vec();
        words.push(self.concurrency.to_string());
        if !self.keep_alive {
            words.push("--no-keep-alive".to_owned());
        }
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        add("--requests", requests.to_string());
        if let Some(seconds) = self.seconds {
            add("--duration", format!("{seconds}s"));
        }
        if let Some(seconds) = self.timeout {
            add("--timeout", format!("{seconds}s"));
        }
        let body = self.post.as_ref().or(self.put.as_ref());
        let method = match (&self.method, &self.post, &self.put) {
            (Some(method), ..) => Some(method.as_str()),
            (None, Some(_), _) => Some("POST"),
            (None, None, Some(_)) => Some("PUT"),
            (None, None, None) => self.head.then_some("HEAD"),
        };
        if let Some(method) = method {
            add("--method", method.to_owned());
        }
        if body.is_some() {
            add("--header", format!("Content-Type: {}", self.content_type));
        }
        self.header.iter().for_each(|header| add("--header", header.clone()));
        if !self.cookie.is_empty() {
            add("--header", format!("Cookie: {}", self.cookie.join("; ")));
        }
        if let Some(body) = body {
            add("--body", format!("@{}", body.display()));
        }
        if let Some(source) = &self.source {
            add("--source", source.clone());
        }
        if let Some(path) = &self.gnuplot {
            add("--gnuplot", path.display().to_string());
        }
        if self.quiet {
            words.push("--quiet".to_owned());
        }
        words.push(self.url.clone());
        Translated::new(words)
    }
}
