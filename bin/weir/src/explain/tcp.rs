//! Explains the handling of a connection by a TCP listener.

use std::net::SocketAddr;

use weir_config::plan::TcpPlan;
use weir_config::{KeyReader, Plan, host_text};

use super::answer::{Answer, Outcome, PassedOver, RouteAnswer};
use super::question::{Question, Spoken};
use super::server::PoolAnswer;

/// Fills in how a TCP listener handles a connection.
pub(super) fn explain(plan: &Plan, tcp: &TcpPlan, question: &Question, answer: &mut Answer) {
    answer.client = Some(question.client.to_string());
    let sends_name = question.scheme == Spoken::Https;
    for (index, route) in tcp.sni_routes.iter().enumerate() {
        let name = format!("sni {}", index + 1);
        let hosts = route.hosts.iter().map(host_text).collect::<Vec<_>>().join(", ");
        if sends_name && route.hosts.iter().any(|host| host.matches(question.host.as_bytes())) {
            let because = vec![format!("server name {} is one of {hosts}", question.host)];
            answer.route = Some(RouteAnswer { name, origin: String::new(), because });
            return to_pool(plan, route.pool, question, answer);
        }
        let reason = match sends_name {
            true => format!("server name {} is none of {hosts}", question.host),
            false => "the connection does not begin with a TLS ClientHello".to_owned(),
        };
        answer.passed_over.push(PassedOver { route: name, origin: String::new(), reason });
    }
    match tcp.pool {
        Some(pool) => to_pool(plan, pool, question, answer),
        None => {
            answer.outcome =
                Outcome::Nobody { reason: "no route takes it: the connection is closed".to_owned() }
        }
    }
}

fn to_pool(plan: &Plan, pool: usize, question: &Question, answer: &mut Answer) {
    if let Some(pool) = plan.pools.get(pool) {
        // The first bytes of the client are not known, so it has no RDP cookie.
        let client = SocketAddr::new(question.client, 0);
        let reader = KeyReader::compile(pool).ok();
        let key =
            reader.and_then(|reader| reader.of_connection(Some(client), || question.destination(), None));
        answer.outcome = Outcome::Pool(Box::new(PoolAnswer::with_sticky(pool, key, None)));
    }
}
