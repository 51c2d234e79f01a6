//! Outcomes of requests and their statuses. This is the only place that maps failures to statuses.

macro_rules! outcomes {
    ($($(#[$doc:meta])* $name:ident = $status:literal, $text:literal;)*) => {
        /// Result of a request. It has a status for the response and a text that clients may read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Outcome {
            $($(#[$doc])* $name,)*
        }

        impl Outcome {
            /// Every outcome.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the HTTP status.
            pub const fn status(self) -> u16 {
                match self {
                    $(Self::$name => $status,)*
                }
            }

            /// Returns one line of text for people, without names, paths or secrets; empty if the status says
            /// enough.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

outcomes! {
    /// GET, HEAD, OPTIONS, or LOCK of an existing resource succeeded (RFC 9110 section 15.3.1).
    Done = 200, "";
    /// PUT, MKCOL, COPY, MOVE or LOCK created a resource (RFC 4918 sections 9.3.1, 9.7.1, 9.8.5, 9.9.4,
    /// 9.10.6).
    Created = 201, "";
    /// A third-party copy has begun; its result follows in the response body.
    Accepted = 202, "";
    /// PUT, COPY or MOVE replaced a resource, or DELETE or UNLOCK succeeded (RFC 4918 sections 9.6.1, 9.8.5,
    /// 9.11.1).
    Replaced = 204, "";
    /// The response has one or more ranges (RFC 9110 section 15.3.7).
    Partial = 206, "";
    /// The body has the status of each resource (RFC 4918 section 11.1).
    MultiStatus = 207, "";
    /// The client already has the current representation (RFC 9110 section 15.4.5).
    NotModified = 304, "";

    /// The path of the target is invalid (RFC 9110 section 15.5.1).
    BadPath = 400, "the path of the request is malformed or not allowed";
    /// A header that the method needs is malformed (RFC 9110 section 15.5.1, RFC 4918 section 8.1).
    BadHeader = 400, "a header of the request is malformed";
    /// The body is not well-formed XML, or its root is not the element that the method requires (RFC 4918
    /// section 8.2).
    BadBody = 400, "the body of the request is malformed";
    /// The Content-Range of a PUT cannot be honoured (RFC 9110 section 14.5).
    BadContentRange = 400, "the Content-Range of the request cannot be honoured";
    /// The content does not match the digest of the request (RFC 9530 section 6.3 leaves the response open).
    DigestMismatch = 400, "the content does not have the digest that the request gives";
    /// The client has not authenticated (RFC 9110 section 15.5.2).
    Unauthenticated = 401, "authentication is required";
    /// The client lacks the permission (RFC 9110 section 15.5.4).
    Forbidden = 403, "not permitted";
    /// COPY or MOVE to itself or to a descendant of itself (RFC 4918 sections 9.8.5 and 9.9.4).
    SameResource = 403, "source and destination are the same, or one contains the other";
    /// COPY with a Source on another server, but third-party copies are off.
    TransfersOff = 403, "copies from other servers are not offered here";
    /// COPY of a collection to another server.
    CollectionElsewhere = 403, "only files can be copied to another server";
    /// PROPFIND with Depth infinity is not offered (RFC 4918 section 9.1.1).
    InfiniteDepth = 403, "PROPFIND with Depth: infinity is not offered here";
    /// PROPPATCH of a protected property (RFC 4918 section 9.2.1).
    ProtectedProperty = 403, "the property cannot be changed";
    /// The resource does not exist (RFC 9110 section 15.5.5).
    NotFound = 404, "there is no such resource";
    /// The resource does not accept the method; Allow lists the accepted ones (RFC 9110 section 15.5.6).
    NotAllowed = 405, "the resource does not take this method";
    /// MKCOL of an existing resource (RFC 4918 section 9.3.1).
    Exists = 405, "there is a resource already";
    /// PUT on a collection (RFC 4918 section 9.7.2).
    PutOnCollection = 405, "a collection cannot be replaced by a file";
    /// The parent collection does not exist (RFC 4918 sections 9.3.1, 9.7.1, 9.8.5, 9.9.4).
    ParentMissing = 409, "the parent collection does not exist";
    /// DELETE of a collection that must be empty but is not (RFC 9110 section 15.5.10).
    NotEmpty = 409, "the collection is not empty";
    /// DELETE, MOVE or an overwrite of a collection with a mount point in it (RFC 9110 section 15.5.10).
    HoldsMountPoint = 409, "a file system is mounted there or below; it must be unmounted first";
    /// PROPPATCH with a value that is invalid for the property (RFC 4918 section 9.2.1).
    BadPropertyValue = 409, "the property cannot have this value";
    /// UNLOCK with a token that belongs to no lock of the resource (RFC 4918 sections 9.11.1 and 16).
    WrongLockToken = 409, "the lock token does not belong to a lock of this resource";
    /// The request needs Content-Length or chunked framing, but has neither (RFC 9110 section 15.5.12).
    LengthRequired = 411, "the length of the content must be given";
    /// A precondition of RFC 9110 section 13 failed.
    PreconditionFailed = 412, "a precondition of the request does not hold";
    /// No list of the If header is true (RFC 4918 section 10.4.3).
    IfFailed = 412, "the If header does not match the state of the resources";
    /// Overwrite is F, and the destination exists (RFC 4918 section 10.6).
    OverwriteRefused = 412, "there is a resource at the destination";
    /// The body is over the limit (RFC 9110 section 15.5.14).
    BodyTooLarge = 413, "the content is too large";
    /// The path is over the limits (RFC 9110 section 15.5.15).
    PathTooLong = 414, "the path of the request is too long";
    /// MKCOL with a body of an unsupported type (RFC 4918 section 9.3.1).
    UnknownBody = 415, "the type of the content is not supported";
    /// No range overlaps the file (RFC 9110 section 15.5.17).
    RangeNotSatisfiable = 416, "none of the ranges is within the resource";
    /// The XML is well-formed, but its instructions cannot be followed (RFC 4918 section 11.2).
    Unprocessable = 422, "the content is understood, but cannot be carried out";
    /// The resource is locked, and the request did not submit the token (RFC 4918 sections 11.3 and 16).
    Locked = 423, "the resource is locked";
    /// LOCK that conflicts with an existing lock (RFC 4918 sections 9.10.6 and 16).
    LockConflict = 423, "there is a lock that excludes this one";
    /// The action was skipped because another part of the request failed (RFC 4918 section 11.4).
    FailedDependency = 424, "not done, because another part of the request failed";
    /// The table of locks is full (RFC 4918 section 11.5).
    TooManyLocks = 507, "no more locks can be kept";
    /// The client has reached the limit of locks for one principal (RFC 4918 section 11.5).
    TooManyOwnLocks = 507, "this client holds as many locks as one client may";

    /// The server failed (RFC 9110 section 15.6.1).
    Failed = 500, "the server could not do it";
    /// The method is unknown (RFC 9110 section 15.6.2).
    NotImplemented = 501, "the method is not known";
    /// X-OC-Mtime on a resumable upload, which may span several requests.
    MtimeOfResumable = 501, "X-OC-Mtime is not supported for resumable uploads; set Win32LastModifiedTime by PROPPATCH instead";
    /// The destination is on another server, and third-party copies are off (RFC 4918 section 9.8.5).
    DestinationElsewhere = 502, "the destination is on another server";
    /// The service is temporarily unavailable (RFC 9110 section 15.6.4).
    Unavailable = 503, "the service is not available for now";
    /// The disk or a quota is full (RFC 4918 section 11.5).
    InsufficientStorage = 507, "there is not enough storage";
}

impl Outcome {
    /// Returns the reason phrase of the status (RFC 9110 section 15, RFC 4918 section 11).
    pub const fn reason(self) -> &'static str {
        match self.status() {
            200 => "OK",
            201 => "Created",
            202 => "Accepted",
            204 => "No Content",
            206 => "Partial Content",
            207 => "Multi-Status",
            304 => "Not Modified",
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            409 => "Conflict",
            411 => "Length Required",
            412 => "Precondition Failed",
            413 => "Content Too Large",
            414 => "URI Too Long",
            415 => "Unsupported Media Type",
            416 => "Range Not Satisfiable",
            422 => "Unprocessable Content",
            423 => "Locked",
            424 => "Failed Dependency",
            500 => "Internal Server Error",
            501 => "Not Implemented",
            502 => "Bad Gateway",
            503 => "Service Unavailable",
            507 => "Insufficient Storage",
            _ => "",
        }
    }

    /// Returns true if the request was carried out or needed no action.
    pub const fn is_success(self) -> bool {
        self.status() < 400
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_says_something_and_no_success_does() {
        for outcome in Outcome::ALL {
            assert_eq!(outcome.is_success(), outcome.text().is_empty(), "{outcome:?}");
            assert!(!outcome.reason().is_empty(), "{outcome:?}");
        }
    }

    #[test]
    fn the_statuses_of_webdav_are_those_of_rfc_4918() {
        let table: String = Outcome::ALL
            .iter()
            .map(|outcome| format!("{} {}: {outcome:?}\n", outcome.status(), outcome.reason()))
            .collect();
        insta::assert_snapshot!(table);
    }
}
