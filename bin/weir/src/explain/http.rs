//! Explains the handling of a request by an HTTP listener.

use std::net::SocketAddr;

use weir_balance::Key;
use weir_config::plan::{HttpPlan, ListenerPlan, PoolPlan, RoutePlan};
use weir_config::{KeyReader, Plan, Secrets, host_text, path_text};
use weir_http::expression::EvaluationError;
use weir_http::{
    Action, Exchange, Forwarder, HeaderTable, HeaderTest, Mismatch, NormalTarget, PathFault, Peer,
    RequestContext, RequestHead, RequestText, RouteMatch, RouteRequest, RouteRewriter, RouteTable, Scheme,
    TargetForm, Template, parse_request,
};
use weir_model::ServerName;
use weir_proxy::sticky::request_edit;

use super::answer::{Answer, Outcome, PassedOver, PathAnswer, RouteAnswer};
use super::question::Question;
use super::server::PoolAnswer;

/// Fills in how an HTTP listener handles a request.
pub(super) fn explain(
    plan: &Plan,
    secrets: &Secrets,
    (listener, http): (&ListenerPlan, &HttpPlan),
    question: &Question,
    answer: &mut Answer,
) {
    let buf = question.head.as_bytes();
    let mut table = HeaderTable::new();
    let sent = match parse_request(buf, &http.limits, &mut table) {
        Ok(Some(head)) => head,
        Ok(None) => return refuse(answer, 400, "the head is not complete".to_owned()),
        Err(error) => return refuse(answer, error.status(), error.to_string()),
    };
    let normal = match NormalTarget::of(buf, &sent, http.paths.as_ref()) {
        Ok(normal) => normal,
        Err(fault) => return refuse(answer, 400, refused_path(listener, fault)),
    };
    answer.path = PathAnswer::of(buf, &sent, &normal);
    let rewritten = normal.rewritten.as_deref().map(|target| NormalTarget::replace(buf, &sent, target));
    let buf = rewritten.as_deref().unwrap_or(buf);
    let head = match parse_request(buf, &http.limits, &mut table) {
        Ok(Some(head)) => head,
        Ok(None) => {
            return refuse(answer, 431, "the head is too large once its target is encoded".to_owned());
        }
        Err(error) => return refuse(answer, error.status(), error.to_string()),
    };
    let scheme = Question::http_scheme(listener);
    let forwarder = Forwarder::compile(&http.forwarding, scheme).reading_paths(http.paths);
    // The command line has no client port. It would matter only in the log.
    let peer = forwarder.peer(SocketAddr::new(question.client, 0));
    let client = forwarder.client_address(buf, &table, &peer);
    answer.client = client.map(|client| client.to_string());
    let request = RouteRequest::of(&head, buf, &table, client, scheme, listener.name.as_str())
        .comparing(normal.compared.as_deref());
    let compiled = http.routes.iter().map(|route| (&route.matches, &route.action));
    let routes = match RouteTable::compile(compiled, http.paths.as_ref()) {
        Ok(routes) => routes,
        Err((index, error)) => return refuse(answer, 500, format!("route {}: {error}", index + 1)),
    };
    let explanation = routes.explain(&request);
    for (route, mismatch) in http.routes.iter().zip(&explanation.passed_over) {
        answer.passed_over.push(PassedOver {
            route: route.name.to_string(),
            origin: route.origin.clone(),
            reason: reason(mismatch, &secrets.mask_match(&route.matches), &request),
        });
    }
    let taken = explanation.route.and_then(|index| Some((index, http.routes.get(index)?)));
    let Some((index, route)) = taken else {
        if head.target.form == TargetForm::Asterisk {
            answer.outcome = Outcome::Respond { status: 200 };
            return;
        }
        return refuse(answer, 404, "no route takes it".to_owned());
    };
    answer.route = Some(RouteAnswer {
        name: route.name.to_string(),
        origin: route.origin.clone(),
        because: because(&secrets.mask_match(&route.matches), &request, explanation.failure.as_ref()),
    });
    if normal.has_refused_backslash && !matches!(route.action, Action::Storage(_)) {
        return refuse(answer, 400, refused_path(listener, PathFault::Backslash));
    }
    let of_route = |index: usize| http.routes.get(index).map(|route| (&route.action, route.rewrite.as_ref()));
    if !matches!(route.action, Action::Redirect(_) | Action::Respond(_))
        && let Some(status) =
            forwarder.destination(buf, &head, &table).refusal(index, &request, &routes, of_route)
    {
        return refuse(answer, status, refused_destination(status).to_owned());
    }
    let named = peer.named_client(client);
    let exchange = Exchange {
        peer: &peer,
        client: named.as_ref().unwrap_or(&peer),
        request_id: if forwarder.has_request_ids() { "a-new-id" } else { "" },
        listener: listener.name.as_str(),
        route: route.name.as_str(),
        pool: "",
        server: None,
        tls: None,
    };
    let sent = Sent {
        buf,
        head: &head,
        table: &table,
        forwarder: &forwarder,
        peer: &peer,
        request: &request,
        question,
        secrets,
    };
    sent.act(plan, route, exchange, scheme, answer);
}

/// Parsed request in its buffer.
struct Sent<'a> {
    buf: &'a [u8],
    head: &'a RequestHead,
    table: &'a HeaderTable,
    forwarder: &'a Forwarder,
    peer: &'a Peer,
    request: &'a RouteRequest<'a>,
    question: &'a Question,
    secrets: &'a Secrets,
}

impl Sent<'_> {
    fn act(
        &self,
        plan: &Plan,
        route: &RoutePlan,
        exchange: Exchange<'_>,
        scheme: Scheme,
        answer: &mut Answer,
    ) {
        answer.outcome = match &route.action {
            Action::Pool(index) => match plan.pools.get(*index) {
                Some(pool) => {
                    let chosen = PoolAnswer::with_sticky(pool, self.key(pool), Some(self.request));
                    answer.request = self.as_server_gets_it(route, pool, &chosen, exchange);
                    Outcome::Pool(Box::new(chosen))
                }
                None => Outcome::default(),
            },
            Action::Storage(area) => Outcome::Storage { area: area.to_string() },
            Action::Redirect(redirect) => {
                let mut location = Vec::new();
                let variables = exchange.variables(scheme, &RequestText::of(self.head, self.buf));
                if let Ok(template) = Template::parse(&redirect.location) {
                    template.expand_location(&mut location, &variables);
                }
                let location = String::from_utf8_lossy(&location).into_owned();
                Outcome::Redirect { status: redirect.status, location }
            }
            Action::Respond(respond) => Outcome::Respond { status: respond.status },
        };
    }

    /// Returns the key by which the pool balances.
    fn key(&self, pool: &PoolPlan) -> Option<Key> {
        let reader = KeyReader::compile(pool).ok()?;
        // The client's port is not known.
        let target = self.head.target.span.of(self.buf);
        reader.of_request(self.request, target, None, || self.question.destination())
    }

    fn as_server_gets_it(
        &self,
        route: &RoutePlan,
        pool: &PoolPlan,
        chosen: &PoolAnswer,
        exchange: Exchange<'_>,
    ) -> Option<String> {
        let rewriter =
            RouteRewriter::compile(route.rewrite.as_ref(), &self.secrets.mask_headers(&route.headers))
                .ok()?;
        let server = ServerName::new(chosen.server.as_deref().unwrap_or("the-server")).ok()?;
        let context = RequestContext {
            exchange: Exchange {
                peer: self.peer,
                pool: pool.name.as_str(),
                server: Some(&server),
                ..exchange
            },
            server_scheme: if pool.tls.is_some() { Scheme::Https } else { Scheme::Http },
            default_host: "",
            upgrade: self.head.upgrade.is_some(),
            pass_expect: true,
            close: pool.reuse.idle_max == 0 || pool.proxy_protocol.is_some(),
            cookie: request_edit(pool),
        };
        let mut out = Vec::new();
        self.forwarder.write_request(&mut out, self.buf, self.head, self.table, &rewriter, &context);
        Some(String::from_utf8_lossy(&out).replace("\r\n", "\n").trim_end().to_owned())
    }
}

fn refused_destination(status: u16) -> &'static str {
    match status {
        403 => {
            "no pool and no storage area takes a request for the path of Destination, or a PUT to it is denied"
        }
        502 => "the path of Destination belongs to another pool, area or rewrite than the request",
        _ => "Destination is ambiguous: it must be an absolute URI or a path that a request could have",
    }
}

fn refused_path(listener: &ListenerPlan, fault: PathFault) -> String {
    format!("{fault}; {} of [listener.{}.paths] decides about it", fault.key(), listener.name)
}

fn refuse(answer: &mut Answer, status: u16, reason: String) {
    answer.outcome = Outcome::Refused { status, reason };
}

/// Describes why a route does not match: the condition, and the value that the request has.
fn reason(mismatch: &Mismatch, matches: &RouteMatch, request: &RouteRequest<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match mismatch {
        Mismatch::Host => format!("host {} is none of {}", text(request.host), hosts(matches)),
        Mismatch::Path => format!("path {} is none of {}", text(request.path), paths(matches)),
        Mismatch::Method => {
            format!("method {} is none of {}", text(request.method), matches.methods.join(", "))
        }
        Mismatch::Header(name) => {
            let wanted =
                matches.headers.iter().find(|header| header.name == *name).map(|header| &header.test);
            match wanted {
                Some(HeaderTest::Present) => format!("header {name} is not there"),
                Some(HeaderTest::Absent) => format!("header {name} is there"),
                Some(HeaderTest::Exact(value)) => format!("no header {name} is {value:?}"),
                Some(HeaderTest::Contains(part)) => format!("no header {name} contains {part:?}"),
                None => mismatch.to_string(),
            }
        }
        Mismatch::Client => match request.client {
            Some(client) => format!("client {client} is in none of {}", clients(matches)),
            None => "the client has no address".to_owned(),
        },
        Mismatch::Expression => format!("this is false: {}", matches.expression.as_deref().unwrap_or("")),
        Mismatch::ExpressionFailed(error) => {
            format!("this fails ({error}): {}", matches.expression.as_deref().unwrap_or(""))
        }
    }
}

/// Describes the conditions of the route, all of which the request meets. `failure` is set if the route
/// matched because its expression failed.
fn because(
    matches: &RouteMatch,
    request: &RouteRequest<'_>,
    failure: Option<&EvaluationError>,
) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut because = Vec::new();
    let mut add = |is_asked: bool, reason: String| {
        if is_asked {
            because.push(reason);
        }
    };
    add(!matches.hosts.is_empty(), format!("host {} is one of {}", text(request.host), hosts(matches)));
    add(!matches.paths.is_empty(), format!("path {} is one of {}", text(request.path), paths(matches)));
    add(
        !matches.methods.is_empty(),
        format!("method {} is one of {}", text(request.method), matches.methods.join(", ")),
    );
    for header in &matches.headers {
        let name = &header.name;
        add(
            true,
            match &header.test {
                HeaderTest::Present => format!("header {name} is there"),
                HeaderTest::Absent => format!("header {name} is not there"),
                HeaderTest::Exact(value) => format!("header {name} is {value:?}"),
                HeaderTest::Contains(part) => format!("header {name} contains {part:?}"),
            },
        );
    }
    if let Some(client) = request.client {
        add(!matches.clients.is_empty(), format!("client {client} is in one of {}", clients(matches)));
    }
    if let Some(expression) = &matches.expression {
        add(
            true,
            match failure {
                Some(error) => format!("this fails ({error}), and the route denies: {expression}"),
                None => format!("this is true: {expression}"),
            },
        );
    }
    because
}

fn hosts(matches: &RouteMatch) -> String {
    matches.hosts.iter().map(host_text).collect::<Vec<_>>().join(", ")
}

fn paths(matches: &RouteMatch) -> String {
    matches.paths.iter().map(path_text).collect::<Vec<_>>().join(", ")
}

fn clients(matches: &RouteMatch) -> String {
    matches.clients.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
