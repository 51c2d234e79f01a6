//! A client of the OpenStack control plane for the tests.

use std::fs;
use std::net::SocketAddr;

use serde_json::{Value, json};
use weir_testkit::{RawClient, Response};

/// The services, for one of the projects that `tests/openstack/seed.py` creates.
pub(crate) struct Cloud {
    token: String,
    pub(crate) project: String,
    catalogue: Value,
}

/// Version of Nova's API that Weir uses, in which lists can be filtered by tag.
const MICROVERSION: (&str, &str) = ("OpenStack-API-Version", "compute 2.52");

impl Cloud {
    /// Logs in as this user. Its password and its project have the same name.
    pub(crate) fn of(user: &str) -> Self {
        let named = json!({ "name": user, "domain": { "id": "default" } });
        let mut who = named.clone();
        who["password"] = json!(user);
        let identity = json!({ "methods": ["password"], "password": { "user": who } });
        let body = json!({ "auth": { "identity": identity, "scope": { "project": named } } });
        let url = format!("{}/auth/tokens", auth_url(user));
        let answer = send("POST", &url, &[], Some(&body)).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.text());
        let mut said: Value = serde_json::from_slice(&answer.body).unwrap();
        Self {
            token: answer.header("x-subject-token").unwrap().to_owned(),
            project: said["token"]["project"]["id"].as_str().unwrap().to_owned(),
            catalogue: said["token"]["catalog"].take(),
        }
    }

    /// Returns the URL of a service of this type.
    pub(crate) fn url(&self, service: &str) -> String {
        let services = self.catalogue.as_array().unwrap();
        let found = services.iter().find(|found| found["type"] == service).unwrap();
        let endpoints = found["endpoints"].as_array().unwrap();
        let public = endpoints.iter().find(|endpoint| endpoint["interface"] == "public").unwrap();
        public["url"].as_str().unwrap().to_owned()
    }

    /// Sends a request to a service. Returns the status and the body of the response.
    pub(crate) fn ask(
        &self,
        service: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), String> {
        let url = format!("{}{path}", self.url(service));
        let answer = send(method, &url, &[("X-Auth-Token", self.token.as_str()), MICROVERSION], body)?;
        Ok((answer.status, serde_json::from_slice(&answer.body).unwrap_or_default()))
    }

    /// Does the same as [`Self::ask`] and returns the body; the status must be 2xx.
    #[track_caller]
    pub(crate) fn told(&self, service: &str, method: &str, path: &str, body: Option<&Value>) -> Value {
        let (status, said) = self.ask(service, method, path, body).unwrap();
        assert!((200..300).contains(&status), "{method} {path}: {status} {said}");
        said
    }

    /// Returns the machines of a fleet, in any state.
    pub(crate) fn machines(&self, fleet: &str) -> Result<Vec<Value>, String> {
        let path = format!("/servers/detail?tags=weir-fleet-{fleet}");
        let (status, mut said) = self.ask("compute", "GET", &path, None)?;
        match said["servers"].take() {
            Value::Array(machines) if status == 200 => Ok(machines),
            _ => Err(format!("{status} {said}")),
        }
    }

    /// Revokes a token before it expires.
    pub(crate) fn revoke(&self, token: &str) {
        let url = format!("{}/auth/tokens", auth_url("admin"));
        let headers = [("X-Auth-Token", self.token.as_str()), ("X-Subject-Token", token)];
        let answer = send("DELETE", &url, &headers, None).unwrap();
        assert_eq!(answer.status, 204, "{}", answer.text());
    }
}

/// Returns Keystone's URL in the clouds.yaml entry of this cloud.
pub(crate) fn auth_url(cloud: &str) -> String {
    let path = std::env::var_os("OS_CLIENT_CONFIG_FILE");
    let path = path.expect("make test-openstack sets OS_CLIENT_CONFIG_FILE");
    let text = fs::read_to_string(path).unwrap();
    let (_, of_cloud) = text.split_once(&format!("\n  {cloud}:\n")).expect("no such cloud");
    let url = of_cloud.lines().find_map(|line| line.trim().strip_prefix("auth_url: "));
    url.unwrap().to_owned()
}

fn send(method: &str, url: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Result<Response, String> {
    let (authority, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
    let mut request = format!(
        "{method} /{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nAccept: application/json\r\n"
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    match body.map(Value::to_string) {
        Some(body) => request.push_str(&format!(
            "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )),
        None => request.push_str("\r\n"),
    }
    let address: SocketAddr = authority.parse().unwrap();
    let mut client = RawClient::try_connect(address).map_err(|cause| cause.to_string())?;
    client.try_send(request).map_err(|cause| cause.to_string())?;
    client.try_response().map_err(|cause| format!("{cause:?}"))
}
