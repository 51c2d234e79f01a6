//! Configuration of NGINX.

use weir_config::lab::{Scheme, Way};

use super::{Assignment, CIPHER, HOST};

/// Returns a configuration with kept connections to servers. Bodies pass through memory. It has no active
/// checks.
pub(super) fn config(assignment: &Assignment<'_>) -> String {
    let Assignment { bind, workers, .. } = assignment;
    let algorithm = match assignment.scheme {
        // The default algorithm.
        Scheme::RoundRobin => "",
        Scheme::LeastConnections => "    least_conn;\n",
        Scheme::Source => "    ip_hash;\n",
        Scheme::Random => "    random;\n",
    };
    let servers = super::each(
        assignment,
        |weight| format!(" weight={weight}"),
        |_, address, weight| format!("    server {address}{weight};\n"),
    );
    let (ssl, tls_in) = match assignment.tls_in {
        None => ("", String::new()),
        Some(certificate) => {
            let pem = certificate.display();
            let lines = format!(
                "    ssl_certificate {pem};\n    ssl_certificate_key {pem};\n    ssl_protocols TLSv1.3;\n    ssl_conf_command Ciphersuites {CIPHER};\n    ssl_session_cache shared:web:4m;\n"
            );
            (" ssl", lines)
        }
    };
    let (scheme, tls_out) = match assignment.tls_out {
        None => ("http", String::new()),
        Some(authority) => {
            let lines = format!(
                "      proxy_ssl_protocols TLSv1.3;\n      proxy_ssl_conf_command Ciphersuites {CIPHER};\n      proxy_ssl_verify on;\n      proxy_ssl_trusted_certificate {};\n      proxy_ssl_name {HOST};\n      proxy_ssl_server_name on;\n",
                authority.display()
            );
            ("https", lines)
        }
    };
    let (asks, sends) =
        if assignment.way == Way::Offloaded { offload(assignment) } else { Default::default() };
    format!(
        "daemon off;
worker_processes {workers};
worker_rlimit_nofile 65536;
pid nginx.pid;
error_log stderr crit;
{user}events {{ worker_connections 32768; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_max_body_size 0;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  upstream web {{
{algorithm}{servers}    keepalive 256;
    keepalive_requests 1000000000;
  }}
  server {{
    listen {bind}{ssl} backlog=4096;
{tls_in}    location / {{
      proxy_pass {scheme}://web;
      proxy_http_version 1.1;
      proxy_set_header Connection \"\";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_request_buffering off;
      proxy_max_temp_file_size 0;
{tls_out}{asks}    }}
{sends}  }}
}}
",
        user = super::super::servers::nginx_user(),
    )
}

/// Returns the request header that makes servers answer with X-Accel-Redirect, and the internal locations of
/// their files.
fn offload(assignment: &Assignment<'_>) -> (String, String) {
    let sends = assignment.servers.iter().zip(assignment.roots).map(|((name, _), root)| {
        format!(
            "    location /{name}/ {{
      internal;
      alias {}/;
      sendfile on;
      tcp_nopush on;
      add_header X-Origin $upstream_http_x_origin;
    }}
",
            root.display()
        )
    });
    ("      proxy_set_header X-Sendfile-Type X-Accel-Redirect;\n".to_owned(), sends.collect())
}
