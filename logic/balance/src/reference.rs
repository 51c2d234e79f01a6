//! The generated reference page about the algorithms.

use std::fmt::Write;

use crate::counterparts::COUNTERPARTS;
use crate::{ALGORITHMS, Algorithm};

const HEAD: &str = "\
# Algorithms

How a pool chooses a server: `balance = \"NAME\"` in `[pool.POOL]`. `weir algorithms` shows the same in the terminal.
This page is made from the code.

Common to all: a server with weight 0, one that is down, ejected, drained or in maintenance gets nothing new; one that is at its
`max-connections` or has just failed the same request is passed over while another has room; backup servers take part when no
other server is eligible. n is the number of servers.
";

/// Returns the text of the docs/reference page about the algorithms.
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    for entry in &ALGORITHMS {
        let default = if entry.algorithm == Algorithm::default() { " (the default)" } else { "" };
        // Writing into a string cannot fail.
        let _ = write!(
            page,
            "\n## {}{default}\n\n- From: {}\n- Formula: {}\n- Use: {}\n- Cost of a pick: {}\n",
            entry.algorithm, entry.origin, entry.formula, entry.when_to_use, entry.cost
        );
    }
    page.push_str(ELSEWHERE);
    for (product, theirs) in COUNTERPARTS {
        let _ = write!(page, "\n### {product}\n\n| there | here | |\n|---|---|---|\n");
        for one in theirs {
            let here: Vec<String> = one.here.iter().map(|algorithm| format!("`{algorithm}`")).collect();
            let here = if here.is_empty() { "-".to_owned() } else { here.join(", ") };
            let _ = writeln!(page, "| {} | {here} | {} |", one.theirs, one.note);
        }
    }
    page
}

const ELSEWHERE: &str = "
## What others call them

[The guide](../guide/choosing-an-algorithm.md#beside-another-balancer) says which of these choose the very same server, and what others have that is nowhere here.
";
