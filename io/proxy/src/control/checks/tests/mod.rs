//! Tests of health checks, with helpers.

mod expectations;
mod layers;
mod standing;

use std::net::SocketAddr;
use std::sync::Arc;

use weir_config::plan::{CheckKind, CheckPlan};
use weir_control::CheckCode;

use super::Probe;
use crate::control::records::CheckResult;
use crate::control::tests::plan;
use crate::state::Endpoint;

/// Parses the value of `check` in the config.
fn check_plan(check: &str) -> CheckPlan {
    let plan = plan(&format!("[pool.web]\nservers = []\ncheck = {check}"));
    plan.pools[0].check.clone().unwrap()
}

/// Creates a check of a plaintext server.
fn probe(address: SocketAddr, check: &str) -> Probe {
    Probe {
        endpoint: Arc::new(Endpoint::Inet(vec![address])),
        plan: check_plan(check),
        tls: None,
        tls_host: "localhost".to_owned(),
        host: "server.example:80".to_owned(),
        proxy_protocol: None,
        lenient: Default::default(),
    }
}

/// Formats a result: `L7STS 500 status 500 Oops`.
fn told(result: &CheckResult) -> String {
    let status = result.status.map(|status| format!(" {status}")).unwrap_or_default();
    format!("{}{status} {}", result.code.name(), result.text).trim_end().to_owned()
}

#[test]
fn an_http_check_is_told_from_the_others_in_the_config() {
    assert!(matches!(check_plan("\"GET /x\"").kind, CheckKind::Http(_)));
    assert_eq!(check_plan("\"tcp\"").kind, CheckKind::Tcp);
    assert_eq!(CheckCode::Initializing.name(), "INI");
}
