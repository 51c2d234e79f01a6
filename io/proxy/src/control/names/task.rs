//! The tasks that look up names.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::lookup::{ADDRESSES_MAX, Found};
use super::{Answer, Resolver};
use crate::control::Controller;

/// Looks up `host` periodically, as long as a server has that name.
pub(in crate::control) async fn keep_asking(controller: Arc<Controller>, resolver: Resolver, host: Arc<str>) {
    let mut failures = 0_u32;
    let mut are_too_many = false;
    loop {
        let last = controller.known_answer(&host);
        let found = resolver.ask(&host, &last).await;
        let wait = match &found {
            Ok(Found { ttl, doubt: None, .. }) => *ttl,
            Ok(Found { ttl, doubt: Some(_), .. }) => resolver.retry_after(failures + 1).min(*ttl),
            Err(_) => resolver.retry_after(failures + 1),
        };
        let trouble = match &found {
            Ok(found) => found.doubt.clone(),
            Err(why) => Some(why.clone()),
        };
        if let Ok(found) = &found {
            let were_too_many = std::mem::replace(&mut are_too_many, !found.left_out.is_empty());
            if are_too_many && !were_too_many {
                controller.log.line(too_many(&host, found));
            }
        }
        let within = controller.name_learned(&host, found.ok().map(|found| found.answer));
        let wait = within.map_or(wait, |within| resolver.not_too_soon(within).min(wait));
        match trouble {
            Some(why) => {
                failures = failures.saturating_add(1);
                if failures == 1 {
                    controller.log.line(format!("name {host}: not resolved: {why}; {}", consequence(&last)));
                }
            }
            None if failures > 0 => {
                failures = 0;
                controller.log.line(format!("name {host}: resolved"));
            }
            None => {}
        }
        sleep(wait).await;
    }
}

/// Looks up names once and concurrently. Returns the answers that arrive within `patience`.
pub(in crate::control) async fn ask_new(
    resolver: &Resolver,
    hosts: BTreeSet<Arc<str>>,
    patience: Duration,
) -> HashMap<Arc<str>, Answer> {
    let mut questions = JoinSet::new();
    for host in hosts {
        let resolver = resolver.clone();
        questions.spawn(async move {
            let found = resolver.ask(&host, &Answer::default()).await;
            (host, found)
        });
    }
    let mut found = HashMap::new();
    let collect = async {
        while let Some(answered) = questions.join_next().await {
            if let Ok((host, Ok(one))) = answered {
                found.insert(host, one.answer);
            }
        }
    };
    // `keep_asking` repeats the lookups that have not ended by now.
    let _ = timeout(patience, collect).await;
    found
}

/// Returns the log line for a name with more addresses than Weir uses.
fn too_many(host: &str, found: &Found) -> String {
    const NAMED_MAX: usize = 10;
    let left_out = &found.left_out;
    let count = found.answer.len() + left_out.len();
    let named: Vec<_> = left_out.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    let more = match left_out.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "name {host}: it has {count} addresses, and no more than {ADDRESSES_MAX} are used; left out: {}{more}; give its servers several names",
        named.join(", ")
    )
}

fn consequence(last: &Answer) -> &'static str {
    if last.is_empty() {
        "its servers get no requests until it is; is it spelled right, and known to the resolver of this machine?"
    } else {
        "the last answer stays in use"
    }
}
