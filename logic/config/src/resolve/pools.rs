//! Finds pools by name, and checks that they fit the traffic that they get.

use std::collections::HashMap;

use weir_balance::Algorithm;

use crate::plan::{KeyPlan, StickyBy};
use crate::pool::read::PoolSpec;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::{Located, Span};
use crate::syntax::tree::short;
use crate::values::subject::Subject;
use crate::values::suggest;

/// The pools by name, and the record of which pools are referred to.
pub(super) struct Pools {
    names: Vec<Located<String>>,
    indices: HashMap<String, usize>,
    used: Vec<bool>,
    keys: Vec<PoolKey>,
    /// Setting of each pool that TCP connections do not support.
    http_only: Vec<Option<HttpOnly>>,
    /// True for each pool in which no request ever waits.
    unlimited: Vec<bool>,
    /// True for each pool that redirects clients to its servers.
    redirects: Vec<bool>,
}

/// Traffic that a pool gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traffic {
    Http,
    Tcp,
}

/// A setting of a pool that TCP connections do not support, with its position.
#[derive(Debug, Clone, Copy)]
enum HttpOnly {
    /// Only HTTP can distinguish the clients.
    Sticky(Span),
    /// Only HTTP has response times.
    AutoWeight(Span),
}

/// The hash key of a pool, as far as it must fit the pool's traffic.
struct PoolKey {
    /// The only traffic with this key; `None` = both kinds.
    needs: Option<Traffic>,
    at: Option<Span>,
    /// Algorithm of a pool without an explicit key that hashes the destination address. Behind a reverse
    /// proxy, that address is usually the same for all requests. Reported once.
    alike: Option<Algorithm>,
}

impl PoolKey {
    fn of(pool: &PoolSpec) -> Self {
        let key = &pool.plan.hash.key;
        let needs = match pool.plan.algorithm.takes_key() {
            true if key.needs_http() => Some(Traffic::Http),
            true if key.needs_tcp() => Some(Traffic::Tcp),
            _ => None,
        };
        let by_destination = pool.plan.algorithm.takes_key() && *key == KeyPlan::Destination && !pool.has_key;
        Self { needs, at: pool.key_at, alike: by_destination.then_some(pool.plan.algorithm) }
    }
}

/// Returns the warning about a pool whose key is the same for all requests of an HTTP listener.
fn all_alike(pool: &Located<String>, algorithm: Algorithm, at: Span) -> Problem {
    let message = format!(
        "pool {}: {algorithm} goes by the address that clients have connected to, which is one and the same for all requests of a listener",
        short(&pool.value)
    );
    Problem::warning(at, message)
        .help(format!("say what to go by: balance = {{ algorithm = \"{algorithm}\", key = \"uri\" }}"))
}

impl HttpOnly {
    fn of(pool: &PoolSpec) -> Option<Self> {
        let sticky = pool.plan.sticky.as_ref().is_some_and(|it| !matches!(it.by, StickyBy::Source(..)));
        let sticky = pool.sticky_at.filter(|_| sticky).map(Self::Sticky);
        sticky.or(pool.auto_weight_at.map(Self::AutoWeight))
    }

    /// Returns the error for a TCP listener's pool with this setting.
    fn unfit(self, pool: &Located<String>) -> Problem {
        let (at, what, help) = match self {
            Self::Sticky(at) => (
                at,
                "sticky: a TCP listener knows no more of a client than its address",
                "write sticky = { source = true }, or give the listener a pool of its own",
            ),
            Self::AutoWeight(at) => (
                at,
                "weight = \"auto\" or auto-weight: a TCP listener sees no requests whose times could be measured",
                "give its servers weights, or the listener a pool of its own",
            ),
        };
        let problem = Problem::error(at, format!("pool {}: {what}", short(&pool.value)));
        problem.also(pool.span, "a TCP listener uses the pool here").help(help)
    }
}

impl Pools {
    pub(super) fn new(pools: &[PoolSpec]) -> Self {
        let name =
            |pool: &PoolSpec| Located { value: pool.name.value.as_str().to_owned(), span: pool.name.span };
        let names: Vec<_> = pools.iter().map(name).collect();
        let indices = names.iter().enumerate().map(|(index, name)| (name.value.clone(), index)).collect();
        Self {
            used: vec![false; names.len()],
            keys: pools.iter().map(PoolKey::of).collect(),
            http_only: pools.iter().map(HttpOnly::of).collect(),
            redirects: pools.iter().map(|pool| pool.plan.redirect.is_some()).collect(),
            unlimited: pools.iter().map(|pool| pool.is_unlimited).collect(),
            names,
            indices,
        }
    }

    /// Returns the index of the pool that `subject` names. Reports an unknown pool, and a pool whose key this
    /// traffic does not have.
    pub(super) fn find(
        &mut self,
        cx: &Context<'_>,
        subject: &Subject,
        name: &Located<String>,
        traffic: Traffic,
    ) -> Option<usize> {
        match self.indices.get(&name.value) {
            Some(index) => {
                self.used[*index] = true;
                if let PoolKey { needs: Some(needs), at, .. } = self.keys[*index]
                    && needs != traffic
                {
                    cx.report(unfit(subject, name, needs, at));
                }
                let key = &mut self.keys[*index];
                if traffic == Traffic::Http
                    && let Some((algorithm, at)) = key.alike.take().zip(key.at)
                {
                    cx.report(all_alike(name, algorithm, at));
                }
                if let (Traffic::Tcp, Some(part)) = (traffic, self.http_only[*index]) {
                    cx.report(part.unfit(name));
                }
                Some(*index)
            }
            None => {
                if !cx.is_incomplete() {
                    let names = self.names.iter().map(|name| name.value.as_str());
                    cx.report(unknown(cx, subject, "pool", name, names));
                }
                None
            }
        }
    }

    /// Returns true if the pool redirects clients to its servers.
    pub(super) fn redirects(&self, index: usize) -> bool {
        self.redirects.get(index).is_some_and(|redirects| *redirects)
    }

    /// Returns the reason why no request waits in a pool; `None` = requests may wait.
    pub(super) fn never_queues(&self, index: usize) -> Option<String> {
        self.unlimited.get(index).filter(|is_unlimited| **is_unlimited)?;
        let name = short(&self.names.get(index)?.value);
        Some(format!("nothing limits how many requests pool {name} has in flight, so that none waits"))
    }

    pub(super) fn warn_of_unused(&self, cx: &Context<'_>) {
        if cx.has_errors() {
            return;
        }
        for (name, _) in self.names.iter().zip(&self.used).filter(|(_, used)| !**used) {
            cx.report(Problem::warning(
                name.span,
                format!("pool {} is not used by any route or listener", name.value),
            ));
        }
    }
}

/// Returns the error for a pool whose key its traffic does not have.
fn unfit(subject: &Subject, pool: &Located<String>, needs: Traffic, at: Option<Span>) -> Problem {
    let pool_name = short(&pool.value);
    let (message, help) = match needs {
        Traffic::Http => (
            format!(
                "{subject}: pool {pool_name} chooses by a part of HTTP requests, and a TCP listener sees none"
            ),
            "choose by key = \"source\" there, or set mode = \"http\" in the listener",
        ),
        Traffic::Tcp => (
            format!("{subject}: pool {pool_name} chooses by rdp-cookie, which HTTP requests do not have"),
            "choose by another key there, or set mode = \"tcp\" in the listener",
        ),
    };
    let problem = Problem::error(pool.span, message).help(help);
    match at {
        Some(at) => problem.also(at, "the key of the pool"),
        None => problem,
    }
}

/// Returns the error for an unknown name.
pub(super) fn unknown<'n>(
    cx: &Context<'_>,
    subject: &Subject,
    noun: &str,
    name: &Located<String>,
    names: impl Iterator<Item = &'n str> + Clone,
) -> Problem {
    let problem =
        Problem::error(name.span, format!("{subject}: there is no {noun} {:?}", short(&name.value)));
    if !cx.may_suggest() {
        return problem;
    }
    if let Some(close) = suggest::closest(&name.value, names.clone()) {
        return problem.help(suggest::did_you_mean(close));
    }
    const LISTED_MAX: usize = 8;
    let listed: Vec<_> = names.clone().take(LISTED_MAX).collect();
    let more = if names.count() > LISTED_MAX { ", ..." } else { "" };
    match listed.is_empty() {
        true => problem.help(format!("define it: [{noun}.{}]", short(&name.value))),
        false => problem.help(format!("there are {}{more}", listed.join(", "))),
    }
}
