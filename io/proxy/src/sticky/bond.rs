//! Binds a request to a server, and its response to the sticky cookie or table.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use weir_balance::{StickyKey, TokenAge, masked_source};
use weir_config::plan::{
    CookieMode, LearnFrom, PoolPlan, StickyBy, StickyCookie, StickyLearn, WhenBusy, WhenGone,
};
use weir_http::{
    CookieEdit, HeaderTable, KnownHeader, PREFIX_END, RouteRequest, SetCookieEdit, append_set_cookie,
    cookies_named, set_cookie_pair, url_param,
};

use super::{Known, Seal, StickyState};
use crate::state::{PoolCounters, ServerState};
use crate::worker::{Claim, Lease, LocalPool, QueuePlace, Wanted};

/// The binding of one request to a server, and the cookie for its response.
pub(crate) struct Bond {
    state: Arc<StickyState>,
    /// Server that the request is bound to, until it turns out to be unavailable.
    wanted: Option<Known>,
    /// Key of its client in the table.
    key: Option<StickyKey>,
    /// Times from the received cookie, if it is valid.
    age: Option<TokenAge>,
    /// True if the request could not get the server that it was bound to.
    has_moved: bool,
    counted: Counted,
    /// True if the client uses TLS.
    secure: bool,
    /// The Set-Cookie line, or the value for the server's own cookie.
    written: Vec<u8>,
}

/// Counters of the pool that already include this binding.
#[derive(Default)]
struct Counted {
    first: bool,
    moved: bool,
}

/// Result of claiming the server of a bound request.
pub(crate) enum Bound {
    /// Its server is claimed.
    Server(Lease),
    /// It must wait for its server or for its pool, which is at its limit.
    Wait(Wanted),
    /// Its server is gone, and no other is permitted.
    Gone,
    /// Any server will do.
    Free,
}

/// Request data that determine a binding.
pub(crate) struct Request<'a> {
    pub(crate) head: &'a RouteRequest<'a>,
    /// True if the client uses TLS.
    pub(crate) secure: bool,
    pub(crate) now: Instant,
}

impl Bond {
    /// Creates the binding of an HTTP request.
    pub(crate) fn of_request(state: &Arc<StickyState>, request: &Request<'_>) -> Self {
        let mut bond = Self::unbound(state, request.secure);
        let head = request.head;
        match &state.plan.by {
            StickyBy::Cookie(cookie) => bond.read_cookie(cookie, head.buf, head.headers),
            StickyBy::Learn(learn, _) => bond.look_up(session(learn, head), request.now),
            StickyBy::Source(..) => return Self::of_source(state, head.client, request.now),
            StickyBy::Expression(..) => {
                let text = state.expression.as_ref().and_then(|expression| expression.evaluate_key(head));
                bond.look_up(text.as_deref(), request.now);
            }
        }
        bond
    }

    /// Creates the binding of a client that is known only by its address.
    pub(crate) fn of_source(state: &Arc<StickyState>, source: Option<IpAddr>, now: Instant) -> Self {
        let mut bond = Self::unbound(state, false);
        if let (StickyBy::Source(rule, _), Some(source)) = (&state.plan.by, source) {
            let masked = masked_source(source, rule.ipv4_prefix, rule.ipv6_prefix).to_string();
            bond.look_up(Some(masked.as_bytes()), now);
        }
        bond
    }

    fn unbound(state: &Arc<StickyState>, secure: bool) -> Self {
        Self {
            state: Arc::clone(state),
            wanted: None,
            key: None,
            age: None,
            has_moved: false,
            counted: Counted::default(),
            secure,
            written: Vec::new(),
        }
    }

    fn read_cookie(&mut self, cookie: &StickyCookie, buf: &[u8], table: &HeaderTable) {
        let Some(seal) = &self.state.seal else { return };
        if !table.has(KnownHeader::Cookie) {
            return;
        }
        let now_s = unix_seconds();
        for value in cookies_named(buf, table, cookie.name.as_bytes()) {
            let value = match cookie.mode {
                CookieMode::Insert | CookieMode::Rewrite => Some(value),
                CookieMode::Prefix => {
                    value.iter().position(|byte| *byte == PREFIX_END).map(|end| &value[..end])
                }
            };
            let Some(opened) = value.and_then(|value| seal.open(value, now_s)) else { continue };
            if let Some(known) = self.state.by_id(&opened.id) {
                (self.wanted, self.age) = (Some(known), opened.age);
                return;
            }
        }
    }

    fn look_up(&mut self, text: Option<&[u8]>, now: Instant) {
        let (Some(text), Some(table)) = (text, &self.state.table) else { return };
        let key = self.state.key(text);
        self.key = Some(key);
        self.wanted = table.find(key, self.state.millis(now)).and_then(|uid| self.state.by_uid(uid));
    }

    /// Claims the server that the request is bound to, unless that server has failed the request already
    /// (`tried`). `queued`: position where the request has waited; if given, it is its turn.
    pub(crate) fn claim(
        &mut self,
        pool: &Rc<LocalPool>,
        tried: &[usize],
        queued: Option<&QueuePlace>,
    ) -> Bound {
        let Some(known) = self.wanted else { return Bound::Free };
        let (when_gone, when_busy) = (self.state.plan.when_gone, self.state.plan.when_busy);
        let has_failed = tried.contains(&known.slot);
        let claim = if has_failed { Claim::Gone } else { pool.claim(known, queued.is_some()) };
        match claim {
            Claim::Server(lease) => return Bound::Server(lease),
            // A request that may not leave its server is rejected by that server's queue, if that is full.
            Claim::Busy(server)
                if when_busy == WhenBusy::Wait
                    && (when_gone == WhenGone::Fail || pool.may_wait_for(&server, queued)) =>
            {
                return Bound::Wait(Wanted::Server(server));
            }
            Claim::Full => return Bound::Wait(Wanted::Room),
            Claim::Gone if when_gone == WhenGone::Fail => return Bound::Gone,
            Claim::Busy(_) | Claim::Gone => {}
        }
        self.wanted = None;
        self.has_moved = true;
        Bound::Free
    }

    /// Returns the server that the request is bound to.
    pub(crate) fn wanted(&self) -> Option<Known> {
        self.wanted
    }

    /// Returns true if the request must not go to another server after its server has failed it.
    pub(crate) fn is_faithful(&self) -> bool {
        self.wanted.is_some() && self.state.plan.when_gone == WhenGone::Fail
    }

    /// Records the chosen server: counts the request, and stores the binding in the table if the client
    /// cannot carry it.
    pub(crate) fn settled(&mut self, server: &ServerState, counters: &PoolCounters, now: Instant) {
        let is_bound = self.wanted.is_some();
        if !std::mem::replace(&mut self.counted.first, true) {
            match (is_bound, self.has_moved) {
                (true, _) => counters.sticky_hits.one(),
                (false, false) => counters.sticky_misses.one(),
                (false, true) => {}
            }
        }
        if self.has_moved && !std::mem::replace(&mut self.counted.moved, true) {
            counters.sticky_redispatches.one();
        }
        if is_bound {
            return;
        }
        // A session that no server is known to have issued is not stored, because a client can invent it.
        let is_learned = matches!(self.state.plan.by, StickyBy::Learn(..));
        if let (Some(key), Some(table)) = (self.key, &self.state.table)
            && (!is_learned || self.has_moved)
        {
            table.bind(key, server.uid, self.state.millis(now));
        }
    }

    /// Processes the head of the server's response: learns a session from it, and prepares the result of
    /// [`Bond::edit`].
    pub(crate) fn answered(&mut self, server: &ServerState, buf: &[u8], table: &HeaderTable, now: Instant) {
        let state = Arc::clone(&self.state);
        match &state.plan.by {
            StickyBy::Cookie(cookie) => {
                if let Some(seal) = &state.seal {
                    self.write_cookie(cookie, seal, server, table);
                }
            }
            StickyBy::Learn(learn, _) => {
                if let (Some(value), Some(table)) = (given_out(learn, buf, table), &state.table) {
                    table.bind(state.key(value), server.uid, state.millis(now));
                }
            }
            StickyBy::Source(..) | StickyBy::Expression(..) => {}
        }
    }

    /// Returns the change to the response's cookies.
    pub(crate) fn edit(&self) -> Option<SetCookieEdit<'_>> {
        let StickyBy::Cookie(cookie) = &self.state.plan.by else { return None };
        let (name, value) = (cookie.name.as_bytes(), self.written.as_slice());
        Some(match cookie.mode {
            CookieMode::Insert => SetCookieEdit::Insert { name, line: value, no_cache: cookie.no_cache },
            // The value is missing only if the server has just been removed; its own cookie then stays
            // unchanged.
            CookieMode::Prefix | CookieMode::Rewrite if value.is_empty() => return None,
            CookieMode::Prefix => SetCookieEdit::Prefix { name, value },
            CookieMode::Rewrite => SetCookieEdit::Rewrite { name, value },
        })
    }

    /// Prepares the cookie line or value that names the server; empty if none is needed.
    fn write_cookie(
        &mut self,
        cookie: &StickyCookie,
        seal: &Seal,
        server: &ServerState,
        table: &HeaderTable,
    ) {
        self.written.clear();
        let Some(id) = self.state.id_of(server.uid) else { return };
        if cookie.mode != CookieMode::Insert {
            if table.has(KnownHeader::SetCookie) {
                self.written = seal.seal(&id, None);
            }
            return;
        }
        let now_s = unix_seconds();
        let is_known = self.wanted.is_some_and(|known| known.uid == server.uid);
        if is_known && !seal.life().is_to_renew(self.age, now_s) {
            return;
        }
        let age = self.age.filter(|_| is_known);
        let value = seal.seal(&id, seal.life().renewed(age, now_s));
        if !value.is_empty() {
            let secure = cookie.secure.unwrap_or(self.secure);
            append_set_cookie(&mut self.written, &cookie.name, &value, &cookie.attributes, secure);
        }
    }
}

/// Returns the change to the sticky cookie of a request before it goes to the server.
pub fn request_edit(pool: &PoolPlan) -> CookieEdit<'_> {
    match pool.sticky.as_ref().map(|sticky| &sticky.by) {
        Some(StickyBy::Cookie(cookie)) => match cookie.mode {
            CookieMode::Insert => CookieEdit::Remove(cookie.name.as_bytes()),
            CookieMode::Prefix => CookieEdit::Unprefix(cookie.name.as_bytes()),
            CookieMode::Rewrite => CookieEdit::Keep,
        },
        Some(StickyBy::Learn(..) | StickyBy::Source(..) | StickyBy::Expression(..)) | None => {
            CookieEdit::Keep
        }
    }
}

/// Returns the session that a request carries.
fn session<'a>(learn: &'a StickyLearn, head: &'a RouteRequest<'a>) -> Option<&'a [u8]> {
    let filled = |value: &&[u8]| !value.is_empty();
    let (buf, headers) = (head.buf, head.headers);
    let cookie = || cookies_named(buf, headers, learn.cookie.as_ref()?.as_bytes()).find(filled);
    let header = || {
        let mut lines = headers.named(buf, learn.header.as_ref()?.as_bytes());
        lines.next().map(|line| line.value().of(buf)).filter(filled)
    };
    let in_url = || url_param(head.forwarded_path, head.query, learn.url_param.as_ref()?.as_bytes());
    cookie().or_else(header).or_else(in_url)
}

/// Returns the session that a response issues.
fn given_out<'a>(learn: &StickyLearn, buf: &'a [u8], table: &'a HeaderTable) -> Option<&'a [u8]> {
    let value = match &learn.from {
        LearnFrom::Cookie(name) => table
            .all(KnownHeader::SetCookie)
            .filter_map(|line| set_cookie_pair(line.value().of(buf)))
            .find_map(|(set, value)| (set == name.as_bytes()).then_some(value)),
        LearnFrom::Header(name) => {
            let mut lines = table.entries().iter();
            let line = lines.find(|line| line.name().of(buf).eq_ignore_ascii_case(name.as_bytes()));
            line.map(|line| line.value().of(buf))
        }
    };
    value.filter(|value| !value.is_empty())
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
