//! Heads, bodies, routes and rewriting, through the crate's public face. One program: each would link all that the others do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A helper that fails is a test that fails.

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
