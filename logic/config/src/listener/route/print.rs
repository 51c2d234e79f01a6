//! Prints `[[route]]`.

use std::collections::{HashMap, VecDeque};

use toml::{Table, Value};
use weir_http::{Action, HeaderAction, HeaderRule, HeaderTest, PathRewrite, RouteMatch};
use weir_model::ByteSize;

use crate::common::patterns::{host_text, path};
use crate::common::print::response;
use crate::common::writer::{Printed, Spelled, Writer, table};
use crate::listener::plan::{HttpPlan, ListenerPlan, Mode, Priority, RoutePlan};
use crate::pool::plan::PoolPlan;

/// Prints the routes of all listeners, each once, in an order that agrees with the order of every listener.
pub(crate) fn print_all(writer: &mut Writer, all: &[ListenerPlan], pools: &[PoolPlan]) {
    let mut queues: Vec<(&ListenerPlan, VecDeque<&RoutePlan>)> = Vec::new();
    let mut listeners: HashMap<&str, Vec<&str>> = HashMap::new();
    for listener in all {
        let Mode::Http(http) = &listener.mode else { continue };
        let own = usize::from(own_action(listener, http).is_some());
        let routes: VecDeque<_> = http.routes.iter().take(http.routes.len() - own).collect();
        for route in &routes {
            listeners.entry(route.name.as_str()).or_default().push(listener.name.as_str());
        }
        queues.push((listener, routes));
    }
    // A route can be printed when it is the next one of every listener that has it.
    while let Some(route) = next(&queues, &listeners) {
        for (_, queue) in &mut queues {
            queue.pop_front_if(|first| first.name == route.name);
        }
        print(writer, pools, route, listeners.get(route.name.as_str()).map_or(&[], Vec::as_slice));
    }
}

fn next<'p>(
    queues: &[(&ListenerPlan, VecDeque<&'p RoutePlan>)],
    listeners: &HashMap<&str, Vec<&str>>,
) -> Option<&'p RoutePlan> {
    let heads = || queues.iter().filter_map(|(_, queue)| queue.front().copied());
    let is_due = |route: &&RoutePlan| {
        let waiting = heads().filter(|head| head.name == route.name).count();
        listeners.get(route.name.as_str()).is_none_or(|listeners| listeners.len() == waiting)
    };
    // In a loaded plan, there is always such a route. In any other plan, the first remaining route is
    // printed.
    heads().find(is_due).or_else(|| heads().next())
}

/// Returns the action of the last route, if that route comes from the listener's own `pool` or `storage`.
pub(crate) fn own_action<'p>(listener: &ListenerPlan, http: &'p HttpPlan) -> Option<&'p Action> {
    let last = http.routes.last()?;
    let RoutePlan {
        name,
        matches,
        action: action @ (Action::Pool(_) | Action::Storage(_)),
        rewrite: None,
        headers,
        priority,
        body_bytes_max: None,
        ..
    } = last
    else {
        return None;
    };
    let is_plain = *matches == RouteMatch::default()
        && *priority == Priority::default()
        && headers.request.is_empty()
        && headers.response.is_empty();
    (is_plain && *name == listener.name).then_some(action)
}

fn print(writer: &mut Writer, pools: &[PoolPlan], route: &RoutePlan, listeners: &[&str]) {
    writer.table("[[route]]");
    writer.key("name", Printed(&route.name));
    writer.many("listener", listeners);
    let matches = &route.matches;
    writer.many("host", &matches.hosts.iter().map(host_text).collect::<Vec<_>>());
    writer.many("path", &matches.paths.iter().map(path).collect::<Vec<_>>());
    writer.many("method", &matches.methods);
    let headers = matches.headers.iter().map(|header| (header.name.clone(), header_test(&header.test)));
    writer.key_if("header", some_table(headers.collect()));
    writer.many("client", &matches.clients.iter().map(Printed).collect::<Vec<_>>());
    writer.key_if("when", matches.expression.as_ref());
    match &route.action {
        Action::Pool(pool) => writer.key_if("pool", pool_name(pools, Some(*pool))),
        Action::Storage(area) => writer.key("storage", Printed(area)),
        Action::Redirect(redirect) => {
            let (to, status) = (redirect.location.spelled(), redirect.status.spelled());
            writer.key("redirect", table([("to", Some(to)), ("status", Some(status))]));
        }
        Action::Respond(respond) => writer.key("respond", response(respond)),
    }
    writer.key_if("rewrite", route.rewrite.as_ref().map(rewrite));
    writer.key_if("request-headers", changes(&route.headers.request));
    writer.key_if("response-headers", changes(&route.headers.response));
    if route.priority != Priority::default() {
        let Priority { class, header, offset_ms, offset_header } = &route.priority;
        let text = |header: &Option<String>| header.as_ref().map(Spelled::spelled);
        let parts = [
            ("class", Some(class.spelled())),
            ("header", text(header)),
            ("offset-ms", Some(offset_ms).filter(|ms| **ms != 0).map(Spelled::spelled)),
            ("offset-header", text(offset_header)),
        ];
        writer.key("priority", table(parts));
    }
    writer.key_if("max-body", route.body_bytes_max.map(|bytes| Printed(ByteSize(bytes))));
}

fn header_test(test: &HeaderTest) -> Value {
    match test {
        HeaderTest::Present => true.spelled(),
        HeaderTest::Absent => false.spelled(),
        HeaderTest::Exact(value) => value.spelled(),
        HeaderTest::Contains(part) => table([("contains", Some(part.spelled()))]),
    }
}

fn rewrite(rewrite: &PathRewrite) -> Value {
    match rewrite {
        PathRewrite::Prefix { from, to } => {
            table([("prefix", Some(from.spelled())), ("to", Some(to.spelled()))])
        }
        PathRewrite::Full(path) => table([("path", Some(path.spelled()))]),
    }
}

/// Returns the rules as a table. They are in the order in which they are read: `remove`, `set`, `add`.
fn changes(rules: &[HeaderRule]) -> Option<Value> {
    let mut remove = Vec::new();
    let mut set = Table::new();
    let mut add = Table::new();
    for rule in rules {
        match &rule.action {
            HeaderAction::Remove => remove.push(rule.name.spelled()),
            HeaderAction::Set(value) => {
                set.insert(rule.name.clone(), value.spelled());
            }
            HeaderAction::Add(value) => match add.get_mut(&rule.name) {
                Some(Value::Array(lines)) => lines.push(value.spelled()),
                _ => {
                    add.insert(rule.name.clone(), Value::Array(vec![value.spelled()]));
                }
            },
        }
    }
    let remove = (!remove.is_empty()).then_some(Value::Array(remove));
    match table([("remove", remove), ("set", some_table(set)), ("add", some_table(add))]) {
        Value::Table(changes) => some_table(changes),
        _ => None,
    }
}

fn some_table(table: Table) -> Option<Value> {
    (!table.is_empty()).then_some(Value::Table(table))
}

/// Returns the name of the pool with this index.
pub(crate) fn pool_name(pools: &[PoolPlan], pool: Option<usize>) -> Option<&str> {
    pools.get(pool?).map(|pool| pool.name.as_str())
}
