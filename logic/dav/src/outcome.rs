//! What a request comes to, and the status that says so. The one place where failures become statuses.

macro_rules! outcomes {
    ($($(#[$doc:meta])* $name:ident = $status:literal, $text:literal;)*) => {
        /// How a request ended. Its number is the status; what clients may read about it is its text.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Outcome {
            $($(#[$doc])* $name,)*
        }

        impl Outcome {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The HTTP status.
            pub const fn status(self) -> u16 {
                match self {
                    $(Self::$name => $status,)*
                }
            }

            /// One line for people, without names, paths or secrets; empty where the status says it all.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

outcomes! {
    /// GET, HEAD, OPTIONS, LOCK of what exists (RFC 9110 section 15.3.1).
    Done = 200, "";
    /// PUT, MKCOL, COPY, MOVE or LOCK made something new (RFC 4918 sections 9.3.1, 9.7.1, 9.8.5, 9.9.4, 9.10.6).
    Created = 201, "";
    /// A third-party copy has begun; its body tells how it ends.
    Accepted = 202, "";
    /// PUT, COPY or MOVE replaced something; DELETE or UNLOCK worked (RFC 4918 sections 9.6.1, 9.8.5, 9.11.1).
    Replaced = 204, "";
    /// A part or several (RFC 9110 section 15.3.7).
    Partial = 206, "";
    /// The body says it for each resource (RFC 4918 section 11.1).
    MultiStatus = 207, "";
    /// The client has it already (RFC 9110 section 15.4.5).
    NotModified = 304, "";

    /// The target is no sound path (RFC 9110 section 15.5.1).
    BadPath = 400, "the path of the request is malformed or not allowed";
    /// A header that the method needs is malformed (RFC 9110 section 15.5.1, RFC 4918 section 8.1).
    BadHeader = 400, "a header of the request is malformed";
    /// The body is no well-formed XML, or not the element that the method takes (RFC 4918 section 8.2).
    BadBody = 400, "the body of the request is malformed";
    /// A PUT whose Content-Range cannot be honoured (RFC 9110 section 14.5).
    BadContentRange = 400, "the Content-Range of the request cannot be honoured";
    /// What came has another checksum than the client said (RFC 9530 section 6.3 leaves the answer open).
    DigestMismatch = 400, "the content does not have the digest that the request gives";
    /// Nobody knows who asks (RFC 9110 section 15.5.2).
    Unauthenticated = 401, "authentication is required";
    /// The client may not do this (RFC 9110 section 15.5.4).
    Forbidden = 403, "not permitted";
    /// COPY or MOVE onto itself, or into what is below itself (RFC 4918 sections 9.8.5 and 9.9.4).
    SameResource = 403, "source and destination are the same, or one contains the other";
    /// COPY with a Source on another server, where there is no third-party copy.
    TransfersOff = 403, "copies from other servers are not offered here";
    /// COPY of a collection to another server.
    CollectionElsewhere = 403, "only files can be copied to another server";
    /// PROPFIND with Depth infinity is not offered (RFC 4918 section 9.1.1).
    InfiniteDepth = 403, "PROPFIND with Depth: infinity is not offered here";
    /// PROPPATCH of a property that the server keeps (RFC 4918 section 9.2.1).
    ProtectedProperty = 403, "the property cannot be changed";
    /// There is nothing (RFC 9110 section 15.5.5).
    NotFound = 404, "there is no such resource";
    /// The resource does not take the method; Allow says what it takes (RFC 9110 section 15.5.6).
    NotAllowed = 405, "the resource does not take this method";
    /// MKCOL where something is (RFC 4918 section 9.3.1).
    Exists = 405, "there is a resource already";
    /// PUT on a collection (RFC 4918 section 9.7.2).
    PutOnCollection = 405, "a collection cannot be replaced by a file";
    /// The parent collection does not exist (RFC 4918 sections 9.3.1, 9.7.1, 9.8.5, 9.9.4).
    ParentMissing = 409, "the parent collection does not exist";
    /// DELETE of a collection that must be empty and is not (RFC 9110 section 15.5.10).
    NotEmpty = 409, "the collection is not empty";
    /// DELETE, MOVE or an overwrite of a collection that a file system is mounted in (RFC 9110 section 15.5.10).
    HoldsMountPoint = 409, "a file system is mounted there or below; it must be unmounted first";
    /// PROPPATCH with a value that the property cannot have (RFC 4918 section 9.2.1).
    BadPropertyValue = 409, "the property cannot have this value";
    /// UNLOCK with a token of no lock here (RFC 4918 sections 9.11.1 and 16).
    WrongLockToken = 409, "the lock token does not belong to a lock of this resource";
    /// Without Content-Length or chunked framing where one is needed (RFC 9110 section 15.5.12).
    LengthRequired = 411, "the length of the content must be given";
    /// A precondition of RFC 9110 section 13 does not hold.
    PreconditionFailed = 412, "a precondition of the request does not hold";
    /// No list of the If header is true (RFC 4918 section 10.4.3).
    IfFailed = 412, "the If header does not match the state of the resources";
    /// Overwrite: F, and there is something at the destination (RFC 4918 section 10.6).
    OverwriteRefused = 412, "there is a resource at the destination";
    /// A body over the limit (RFC 9110 section 15.5.14).
    BodyTooLarge = 413, "the content is too large";
    /// A path over the limits (RFC 9110 section 15.5.15).
    PathTooLong = 414, "the path of the request is too long";
    /// MKCOL with a body that is not understood (RFC 4918 section 9.3.1).
    UnknownBody = 415, "the type of the content is not supported";
    /// None of the ranges is in the file (RFC 9110 section 15.5.17).
    RangeNotSatisfiable = 416, "none of the ranges is within the resource";
    /// XML that is well-formed and asks for something that makes no sense (RFC 4918 section 11.2).
    Unprocessable = 422, "the content is understood, but cannot be carried out";
    /// A lock, and its token was not submitted (RFC 4918 sections 11.3 and 16).
    Locked = 423, "the resource is locked";
    /// LOCK that contradicts a lock (RFC 4918 sections 9.10.6 and 16).
    LockConflict = 423, "there is a lock that excludes this one";
    /// Left undone because another part of the request failed (RFC 4918 section 11.4).
    FailedDependency = 424, "not done, because another part of the request failed";
    /// The table of locks is full (RFC 4918 section 11.5).
    TooManyLocks = 507, "no more locks can be kept";
    /// The client has reached the limit of locks for one principal (RFC 4918 section 11.5).
    TooManyOwnLocks = 507, "this client holds as many locks as one client may";

    /// The server's own fault (RFC 9110 section 15.6.1).
    Failed = 500, "the server could not do it";
    /// The method is not known (RFC 9110 section 15.6.2).
    NotImplemented = 501, "the method is not known";
    /// A time of last change for an upload that may come in several requests.
    MtimeOfResumable = 501, "X-OC-Mtime is not supported for resumable uploads; set Win32LastModifiedTime by PROPPATCH instead";
    /// The destination is on another server, and there is no third-party copy (RFC 4918 section 9.8.5).
    DestinationElsewhere = 502, "the destination is on another server";
    /// For now (RFC 9110 section 15.6.4).
    Unavailable = 503, "the service is not available for now";
    /// The disk is full, or a quota (RFC 4918 section 11.5).
    InsufficientStorage = 507, "there is not enough storage";
}

impl Outcome {
    /// The reason phrase of its status (RFC 9110 section 15, RFC 4918 section 11).
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

    /// Whether what was asked for was done, or need not be done.
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
