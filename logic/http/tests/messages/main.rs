//! Tests of heads, bodies, routes and rewriting through the public interface of the crate. They form one
//! program, because each separate program would link the same code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A failure in a helper is a test failure.

mod bodies;
mod cgi_names;
mod clients;
mod common;
mod cookies;
mod destinations;
mod expression_types;
mod expressions;
mod extensions;
mod forwarded_names;
mod heads;
mod laws;
mod max_forwards;
mod own_answers;
mod paths;
mod request_rewriting;
mod request_trailers;
mod response_rewriting;
mod routing;
mod server_host;
mod smuggling;
mod smuggling_table;
mod usual_form;
