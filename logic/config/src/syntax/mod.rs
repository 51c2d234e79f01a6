//! Turns text into a tree of values and collects the problems found in it. Independent of the sections of a
//! config.

pub(crate) mod context;
pub(crate) mod diagnostic;
pub(crate) mod environment;
pub(crate) mod foreign;
pub(crate) mod outline;
pub(crate) mod outside;
pub(crate) mod read;
pub(crate) mod render;
pub(crate) mod source;
pub(crate) mod tree;
pub(crate) mod written;
