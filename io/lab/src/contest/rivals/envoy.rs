//! Configuration of Envoy.

use std::net::SocketAddr;
use std::path::Path;

use weir_config::lab::Scheme;

use super::{Assignment, HOST};

const TLS: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3";
const MANAGER: &str =
    "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
const ROUTER: &str = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";

/// Retries twice, on another server.
const RETRY: &str = "num_retries: 2, host_selection_retry_max_attempts: 3, retry_host_predicate: [ { name: envoy.retry_host_predicates.previous_hosts, \
    typed_config: { \"@type\": type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate } } ]";

/// Returns a configuration for HTTP/1.1 on both sides. A GET without a response is retried on another server,
/// other methods only if they could not be sent. Its limits have room for the lab's connections.
pub(super) fn config(assignment: &Assignment<'_>) -> String {
    let (policy, hash) = match assignment.scheme {
        Scheme::RoundRobin => ("ROUND_ROBIN", ""),
        Scheme::LeastConnections => ("LEAST_REQUEST", ""),
        Scheme::Source => ("RING_HASH", ", hash_policy: [ { connection_properties: { source_ip: true } } ]"),
        Scheme::Random => ("RANDOM", ""),
    };
    let servers = super::each(
        assignment,
        |weight| format!("          load_balancing_weight: {weight}\n"),
        |_, address, weight| {
            format!("        - endpoint: {{ address: {} }}\n{weight}", socket_address(address))
        },
    );
    let checks = match assignment.check {
        "" => String::new(),
        path => format!(
            "    health_checks:
    - timeout: 2s
      interval: 2s
      healthy_threshold: 2
      unhealthy_threshold: 3
      http_health_check: {{ host: {HOST}, path: {path:?} }}
"
        ),
    };
    format!(
        "static_resources:
  listeners:
  - name: web
    address: {bind}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          \"@type\": {MANAGER}
          stat_prefix: web
          codec_type: HTTP1
          use_remote_address: true
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{ \"@type\": {ROUTER} }}
          route_config:
            virtual_hosts:
            - name: web
              domains: [ \"*\" ]
              routes:
              - match: {{ prefix: /, headers: [ {{ name: \":method\", string_match: {{ exact: GET }} }} ] }}
                route: {{ cluster: web, timeout: 0s, idle_timeout: 60s, retry_policy: {{ retry_on: \"connect-failure,reset\", {RETRY} }}{hash} }}
              - match: {{ prefix: / }}
                route: {{ cluster: web, timeout: 0s, idle_timeout: 60s, retry_policy: {{ retry_on: connect-failure, {RETRY} }}{hash} }}
{tls_in}  clusters:
  - name: web
    type: STATIC
    connect_timeout: 3s
    lb_policy: {policy}
    circuit_breakers:
      thresholds:
      - {{ max_connections: 30000, max_pending_requests: 30000, max_requests: 30000, max_retries: 30000 }}
    load_assignment:
      cluster_name: web
      endpoints:
      - lb_endpoints:
{servers}{checks}{tls_out}",
        bind = socket_address(assignment.bind),
        tls_in = assignment.tls_in.map(tls_in).unwrap_or_default(),
        tls_out = assignment.tls_out.map(tls_out).unwrap_or_default(),
    )
}

fn socket_address(address: SocketAddr) -> String {
    format!("{{ socket_address: {{ address: {}, port_value: {} }} }}", address.ip(), address.port())
}

fn tls_in(pem: &Path) -> String {
    format!(
        "      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          \"@type\": {TLS}.DownstreamTlsContext
          common_tls_context:
            tls_params: {{ tls_minimum_protocol_version: TLSv1_3 }}
            tls_certificates:
            - certificate_chain: {{ filename: {pem:?} }}
              private_key: {{ filename: {pem:?} }}
"
    )
}

fn tls_out(authority: &Path) -> String {
    format!(
        "    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        \"@type\": {TLS}.UpstreamTlsContext
        sni: {HOST}
        common_tls_context:
          tls_params: {{ tls_minimum_protocol_version: TLSv1_3, tls_maximum_protocol_version: TLSv1_3 }}
          validation_context:
            trusted_ca: {{ filename: {authority:?} }}
            match_typed_subject_alt_names:
            - {{ san_type: DNS, matcher: {{ exact: {HOST} }} }}
"
    )
}
