//! The requests that a load sends.

mod http2;
mod steering;
mod upload;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use weir_dav::digest::{Algorithm, Digest};

use crate::rng;
use crate::template::Template;
use crate::url::{Origin, Url};
pub(crate) use http2::{Http2Head, head_bytes};
pub use upload::WANTED;
use upload::is_upload;
pub(crate) use upload::{Sending, Upload};

/// Request of one kind, ready to send.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) origin: Origin,
    pub(crate) is_head: bool,
    /// Set when the request says that its connection closes after the response.
    pub(crate) closes: bool,
    /// Head of the request over HTTP/1.
    pub(crate) head: Template,
    /// Head of the request over HTTP/2, if the load uses it.
    pub(crate) http2: Option<Http2Head>,
    pub(crate) body: Body,
    /// Verification of the uploaded body, if the request is an upload and verification is enabled.
    pub(crate) upload: Option<Upload>,
}

/// Body of a request.
#[derive(Debug, Clone, Default)]
pub enum Body {
    /// No body.
    #[default]
    Empty,
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// The content of a file, read while it is sent.
    File {
        /// The open file. Each request reads at its own offset.
        file: Arc<File>,
        /// Size of the file when it was opened.
        bytes: u64,
    },
    /// Incompressible bytes.
    Generated {
        /// Size of the body.
        bytes: u64,
    },
}

/// Request of one kind, as configured.
#[derive(Debug, Clone, Default)]
pub struct TargetSpec {
    /// Method, such as `GET`.
    pub method: String,
    /// URL; `{i}` stands for the number of the request.
    pub url: String,
    /// Names and values of headers. Host, Connection and Content-Length are added if they are absent.
    pub headers: Vec<(String, String)>,
    /// Body of the request.
    pub body: Body,
    /// Frequency relative to the other targets; `None` = in turn with them.
    pub weight: Option<f64>,
}

/// Reference for the check of bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verify {
    /// Compares the response body with the digest that the response announces (Digest, Repr-Digest or
    /// Content-Digest). A response without one is wrong. For PUT and POST, compares the request body with the
    /// server's digest of the received bytes. If the server reports none, the upload is not verified.
    Announced,
    /// Compares the response body with this digest.
    Given(Digest),
}

impl std::str::FromStr for Verify {
    type Err = String;

    /// Parses `announced`, or an algorithm with the digest in hexadecimal: `adler32=0a1b2c3d`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "announced" {
            return Ok(Self::Announced);
        }
        let names = || Algorithm::ALL.map(Algorithm::name).join(", ");
        let (name, digits) = text.split_once('=').ok_or_else(|| {
            format!("{text:?}: write announced, or ALGORITHM=DIGEST with one of {}", names())
        })?;
        let algorithm = Algorithm::from_name(name.as_bytes())
            .ok_or_else(|| format!("{name:?} is none of {}", names()))?;
        Digest::from_hex(algorithm, digits.as_bytes())
            .map(Self::Given)
            .ok_or_else(|| format!("{digits:?} is no {name} in hexadecimal digits"))
    }
}

/// Size of the piece that generated bodies repeat. It is not a power of two, so that storage blocks differ.
pub(crate) const PATTERN_BYTES: usize = 65_521;

impl Body {
    /// Opens a file as a body.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn file(path: &Path) -> Result<Self, String> {
        let open = || -> std::io::Result<Self> {
            let file = File::open(path)?;
            let bytes = file.metadata()?.len();
            Ok(Self::File { file: Arc::new(file), bytes })
        };
        open().map_err(|cause| format!("{}: {cause}", path.display()))
    }

    /// Returns the size of the body.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { bytes, .. } | Self::Generated { bytes } => *bytes,
        }
    }

    /// Copies the bytes from offset `at` into `out`, as far as they fit, and returns their number.
    pub(crate) fn read_at(&self, at: u64, out: &mut [u8], pattern: &[u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.bytes().saturating_sub(at)).unwrap_or(usize::MAX);
        let wanted = left.min(out.len());
        match self {
            Self::Empty => Ok(0),
            Self::Bytes(bytes) => {
                let from = at as usize;
                out[..wanted].copy_from_slice(&bytes[from..from + wanted]);
                Ok(wanted)
            }
            Self::File { file, .. } => match file.read_at(&mut out[..wanted], at)? {
                0 if wanted > 0 => Err(std::io::Error::other("the file with the body has become shorter")),
                bytes => Ok(bytes),
            },
            Self::Generated { .. } => {
                let from = (at % pattern.len() as u64) as usize;
                let piece = &pattern[from..pattern.len().min(from + wanted)];
                out[..piece.len()].copy_from_slice(piece);
                Ok(piece.len())
            }
        }
    }
}

/// Returns the piece that generated bodies repeat.
pub(crate) fn pattern() -> Vec<u8> {
    let mut rng = rng::Rng::new(0x0077_6569_7200);
    let mut bytes: Vec<u8> =
        std::iter::repeat_with(|| rng.next().to_le_bytes()).take(PATTERN_BYTES / 8 + 1).flatten().collect();
    bytes.truncate(PATTERN_BYTES);
    bytes
}

impl Target {
    /// Prepares a request.
    ///
    /// # Errors
    /// If the method, the URL or a header cannot be sent.
    pub(crate) fn new(
        spec: &TargetSpec,
        keep_alive: bool,
        is_http2: bool,
        verify: Option<&Verify>,
    ) -> Result<Self, String> {
        let url: Url = spec.url.parse()?;
        let is_token = |text: &str| {
            let punctuation = b"!#$%&'*+-.^_`|~";
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || punctuation.contains(&b))
        };
        if !is_token(&spec.method) {
            return Err(format!("{:?} is no method", spec.method));
        }
        let mut head = format!("{} {} HTTP/1.1\r\n", spec.method, url.path);
        let given = |name: &str| spec.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let closes = steering::closes(spec, keep_alive)?;
        if !given("host") {
            head.push_str(&format!("Host: {}\r\n", url.origin.authority()));
        }
        for (name, value) in &spec.headers {
            if !is_token(name) || value.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
                return Err(format!("{name:?}: {value:?} is no header"));
            }
            if name.eq_ignore_ascii_case("content-length") {
                continue;
            }
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !given("user-agent") {
            head.push_str("User-Agent: weir-load\r\n");
        }
        if !keep_alive && !given("connection") {
            head.push_str("Connection: close\r\n");
        }
        if spec.body.bytes() > 0 || is_upload(&spec.method) || given("content-length") {
            head.push_str(&format!("Content-Length: {}\r\n", spec.body.bytes()));
        }
        head.push_str("\r\n");
        let weight = spec.weight.unwrap_or(1.0);
        if !(weight > 0.0 && weight.is_finite()) {
            return Err(format!("{weight}: a weight is a number above 0"));
        }
        let http2 = if is_http2 { Some(Http2Head::new(spec, &url)?) } else { None };
        Ok(Self {
            origin: url.origin,
            is_head: spec.method == "HEAD",
            closes,
            head: Template::parse(head.as_bytes()),
            http2,
            body: spec.body.clone(),
            upload: if verify == Some(&Verify::Announced) { Upload::of(spec) } else { None },
        })
    }
}

/// Rule that selects the target of a request.
#[derive(Debug, Clone)]
pub(crate) enum Choice {
    /// Each target in turn.
    InTurn(usize),
    /// Random by weight, the same for the same seed. Contains cumulative weights, as shares of 1.
    ByWeight { sums: Vec<f64>, seed: u64 },
}

impl Choice {
    pub(crate) fn new(specs: &[TargetSpec], seed: u64) -> Self {
        if specs.iter().all(|spec| spec.weight.is_none()) {
            return Self::InTurn(specs.len().max(1));
        }
        let weights = || specs.iter().map(|spec| spec.weight.unwrap_or(1.0));
        let total: f64 = weights().sum();
        let mut sum = 0.0;
        let sums = weights().map(|weight| {
            sum += weight / total;
            sum
        });
        Self::ByWeight { sums: sums.collect(), seed }
    }

    /// Returns the target of request `number`, independent of the thread that sends it.
    pub(crate) fn of(&self, number: u64) -> usize {
        match self {
            Self::InTurn(count) => (number % *count as u64) as usize,
            Self::ByWeight { sums, seed } => {
                let point = rng::unit(rng::at(*seed, number));
                sums.partition_point(|sum| *sum < point).min(sums.len() - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(method: &str, url: &str) -> TargetSpec {
        TargetSpec { method: method.to_owned(), url: url.to_owned(), ..TargetSpec::default() }
    }

    fn head(target: &Target, number: u64) -> String {
        let mut out = Vec::new();
        target.head.render(number, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_request_has_what_http_asks_for_and_what_was_given() {
        let mut put = spec("PUT", "http://a:81/f-{i}");
        put.headers.push(("X-Y".to_owned(), "z".to_owned()));
        put.body = Body::Generated { bytes: 10 };
        let target = Target::new(&put, true, false, None).unwrap();
        assert_eq!(
            head(&target, 7),
            "PUT /f-7 HTTP/1.1\r\nHost: a:81\r\nX-Y: z\r\nUser-Agent: weir-load\r\nContent-Length: 10\r\n\r\n"
        );
        let get = Target::new(&spec("GET", "http://a/"), false, false, None).unwrap();
        assert!(head(&get, 0).contains("Connection: close\r\n") && !head(&get, 0).contains("Content-Length"));
    }

    #[test]
    fn what_would_break_the_framing_is_refused() {
        let mut target = spec("GET", "http://a/");
        target.headers.push(("X".to_owned(), "a\r\nB: c".to_owned()));
        assert!(Target::new(&target, true, false, None).is_err());
        assert!(Target::new(&spec("G T", "http://a/"), true, false, None).is_err());
        target.headers = vec![("Transfer-Encoding".to_owned(), "chunked".to_owned())];
        assert!(Target::new(&target, true, false, None).is_err());
    }

    #[test]
    fn targets_are_chosen_in_turn_or_by_weight() {
        let mut specs = vec![spec("GET", "http://a/"), spec("PUT", "http://a/"), spec("DELETE", "http://a/")];
        let choice = Choice::new(&specs, 1);
        assert_eq!((0..6).map(|number| choice.of(number)).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
        for (spec, weight) in specs.iter_mut().zip([7.0, 2.0, 1.0]) {
            spec.weight = Some(weight);
        }
        let choice = Choice::new(&specs, 1);
        let mut counts = [0; 3];
        (0..10_000).for_each(|number| counts[choice.of(number)] += 1);
        assert!(
            counts.iter().zip([7000, 2000, 1000]).all(|(got, meant): (&i32, i32)| (got - meant).abs() < 150)
        );
    }

    #[test]
    fn a_generated_body_is_the_same_wherever_it_is_read() {
        let body = Body::Generated { bytes: 200_000 };
        let pattern = pattern();
        let mut whole = Vec::new();
        while (whole.len() as u64) < body.bytes() {
            let mut piece = [0; 9_973];
            let bytes = body.read_at(whole.len() as u64, &mut piece, &pattern).unwrap();
            whole.extend_from_slice(&piece[..bytes]);
        }
        let mut end = [0; 16];
        let bytes = body.read_at(199_990, &mut end, &pattern).unwrap();
        assert_eq!((whole.len(), &end[..bytes]), (200_000, &whole[199_990..]));
    }
}
