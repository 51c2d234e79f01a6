//! Maps every reason for a refusal to a response. No other module of this crate does.

use weir_access::www_authenticate::RefusalAnswer;
use weir_dav::method::{Kind, Offer};
use weir_dav::negotiate::Listing;
use weir_dav::outcome::Outcome;
use weir_dav::range::PARTIAL_UPDATE;
use weir_dav::third_party::{TransferError, Vetoed};
use weir_dav::xml::{CONTENT_TYPE, Condition};
use weir_net::service::{Answer, Content, Request};
use weir_net::ticket::TicketError;
use weir_storage::StorageError;

/// The reason why a request is not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A WebDAV outcome.
    Outcome(Outcome),
    /// A WebDAV outcome with a machine-readable cause (RFC 4918 section 16).
    Condition(Outcome, Condition),
    /// The client must authenticate, or it lacks the permission.
    Access(RefusalAnswer),
    /// The resource, which is of this kind, does not support the method.
    NotAllowed(Kind),
    /// No requested range lies in the file, which has this length.
    Range(u64),
    /// The target is a directory, but its URL has no slash at the end: redirect to this URL.
    Moved(String),
    /// Too many wrong passwords. Seconds until the next attempt is checked.
    TooManyPasswords(u64),
    /// A redirect sent the client here with an invalid ticket.
    Ticket(TicketError),
    /// The request for a third-party copy is invalid.
    Transfer(TransferError),
    /// The configuration forbids third-party copies with this server.
    Vetoed(Vetoed),
    /// The body was incomplete. The code that reads the body responds.
    Body,
}

impl From<Outcome> for Refusal {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(outcome)
    }
}

impl From<StorageError> for Refusal {
    fn from(error: StorageError) -> Self {
        match error {
            // RFC 4331 section 6.
            StorageError::Full => Self::Condition(error.outcome(), Condition::SufficientDiskSpace),
            StorageError::OverQuota => Self::Condition(error.outcome(), Condition::QuotaNotExceeded),
            error => Self::Outcome(error.outcome()),
        }
    }
}

impl Refusal {
    /// Builds the response, as JSON or text by the client's Accept header.
    pub(crate) fn answer(self, offer: Offer, request: &Request) -> Answer {
        let outcome = match self {
            Self::Outcome(outcome) => outcome,
            Self::Condition(outcome, condition) => {
                let body = Content::Bytes(condition.document().into_bytes());
                return Answer::new(outcome.status()).content(CONTENT_TYPE, body);
            }
            Self::Access(refusal) => {
                let text = match refusal.status {
                    400 => "the credentials of the request are malformed",
                    401 => Outcome::Unauthenticated.text(),
                    503 => {
                        "the token cannot be verified at the moment: keys of its issuer cannot be fetched yet"
                    }
                    _ => Outcome::Forbidden.text(),
                };
                let mut answer = page(refusal.status, text, request);
                for challenge in refusal.challenges {
                    answer = answer.with("WWW-Authenticate", challenge);
                }
                return match refusal.retry_after_secs {
                    Some(seconds) => answer.with("Retry-After", seconds.to_string()),
                    None => answer,
                };
            }
            Self::NotAllowed(kind) => {
                return refuse(Outcome::NotAllowed, request).with("Allow", offer.allow(kind));
            }
            Self::Range(length) => {
                return refuse(Outcome::RangeNotSatisfiable, request)
                    .with("Content-Range", format!("bytes */{length}"));
            }
            Self::Moved(location) => return Answer::new(301).with("Location", location),
            Self::TooManyPasswords(seconds) => {
                let text = "too many wrong passwords: try again later";
                return page(429, text, request).with("Retry-After", seconds.to_string());
            }
            Self::Ticket(error) => return page(403, &error.to_string(), request),
            Self::Transfer(error) => return page(400, &error.to_string(), request),
            Self::Vetoed(vetoed) => return page(403, &vetoed.to_string(), request),
            Self::Body => Outcome::Failed,
        };
        let answer = refuse(outcome, request);
        match outcome {
            // Every 405 must have an Allow header (RFC 9110 section 15.5.6).
            Outcome::Exists | Outcome::PutOnCollection => answer.with("Allow", offer.allow(Kind::Collection)),
            Outcome::NotAllowed => answer.with("Allow", offer.allow(Kind::File)),
            // RFC 5789 section 2.2.
            Outcome::UnknownBody if request.method() == b"PATCH" => {
                answer.with("Accept-Patch", PARTIAL_UPDATE)
            }
            Outcome::Unavailable => answer.with("Retry-After", "1"),
            _ => answer,
        }
    }
}

/// Builds an error page for an outcome.
pub(crate) fn refuse(outcome: Outcome, request: &Request) -> Answer {
    page(outcome.status(), outcome.text(), request)
}

/// Refuses a request because the area is not in force, yet or any longer.
pub(crate) fn unavailable(request: &Request) -> Answer {
    refuse(Outcome::Unavailable, request).with("Retry-After", "1")
}

fn page(status: u16, text: &str, request: &Request) -> Answer {
    let content_type;
    let body = match Listing::choose(request.list("Accept").as_deref()) {
        Listing::Json => {
            content_type = Listing::Json.content_type();
            serde_json::json!({ "status": status, "error": text }).to_string() + "\n"
        }
        Listing::Html => {
            content_type = "text/plain; charset=utf-8";
            format!("{status} {text}\n")
        }
    };
    Answer::new(status).content(content_type, Content::Bytes(body.into_bytes()))
}
