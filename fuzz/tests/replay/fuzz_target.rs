//! One test for each target, so that libtest runs them in parallel.

use crate::search::Search;

/// Defines a test function for each target, as libtest requires.
macro_rules! tests {
    ($($target:ident)*) => {
        /// Targets that have a test here.
        pub(crate) const TESTED: &[&str] = &[$(stringify!($target)),*];
        $(
            #[test]
            fn $target() {
                Search::of(stringify!($target)).run_and_report();
            }
        )*
    };
}

tests! {
    access_convert
    access_rules
    access_scope
    access_token
    agent_reply
    byte_range
    cedar_policies
    chunked_body
    client_hello
    config
    dav_xml
    destination
    expression
    if_header
    proxy_header
    redis_reply
    request_head
    request_path
    response_head
    storage_files
    third_party
    token_requests
    upload_headers
}
