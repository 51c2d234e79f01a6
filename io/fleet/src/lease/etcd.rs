//! A lease in etcd: the key is attached to one of etcd's leases, over the JSON gateway of version 3
//! (<https://etcd.io/docs/latest/dev-guide/api_grpc_gateway/>).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use weir_config::plan::{LeaseStorePlan, TlsOut, TlsVersion};

use super::clock::since_boot;
use super::store::{Asked, Claim, password, patience};
use crate::http::{HttpClient, Method, StatusCode};

/// An etcd cluster; requests go to the member that answered last.
pub(super) struct Etcd {
    plan: LeaseStorePlan,
    http: HttpClient,
    at: usize,
    /// Authentication token, once requested.
    token: Option<String>,
}

/// Error of a member.
struct Refusal {
    why: String,
    kind: RefusalKind,
}

#[derive(PartialEq, Eq)]
enum RefusalKind {
    /// Another member may execute the request.
    Elsewhere,
    /// The token is no longer valid.
    Token,
    /// No member would execute the request.
    Lasting,
}

/// Maximum length of a member's message that is shown.
const MESSAGE_CHARS_MAX: usize = 300;

impl Etcd {
    pub(super) fn new(plan: &LeaseStorePlan) -> Self {
        let plaintext = TlsOut {
            verify: true,
            ca: None,
            server_name: None,
            client_certificate: None,
            version_min: TlsVersion::V1_2,
        };
        // Half of the time remains for another member if one does not answer.
        let http = HttpClient::new(plan.tls.clone().unwrap_or(plaintext), patience(plan) / 2);
        Self { plan: plan.clone(), http, at: 0, token: None }
    }

    pub(super) async fn acquire(&mut self, holder: &str) -> Result<Asked, String> {
        let (key, epoch_key) = (encoded(&self.plan.key), encoded(&format!("{}/epoch", self.plan.key)));
        let free = json!({ "key": key, "target": "CREATE", "result": "EQUAL", "create_revision": "0" });
        let seen = json!({
            "compare": [free],
            "success": [{ "request_range": { "key": epoch_key } }],
            "failure": [{ "request_range": { "key": key } }],
        });
        let seen = self.call("/v3/kv/txn", &seen).await?;
        let found = &seen["responses"][0]["response_range"]["kvs"][0];
        if seen["succeeded"] != true {
            return Ok(Asked::Held(decoded(&found["value"])));
        }
        let version = number(&found["version"]);

        let since = since_boot();
        let lasts_s = self.plan.lasts.0.div_ceil(1000);
        let granted = self.call("/v3/lease/grant", &json!({ "TTL": lasts_s.to_string() })).await?;
        let id = number(&granted["ID"]);
        let put = |key: &str, lease: i64| json!({ "request_put": { "key": key, "value": encoded(holder), "lease": lease.to_string() } });
        let same = json!({ "key": epoch_key, "target": "VERSION", "result": "EQUAL", "version": version.to_string() });
        let write = json!({
            "compare": [free, same],
            "success": [put(&key, id), put(&epoch_key, 0)],
            "failure": [{ "request_range": { "key": key } }],
        });
        let written = self.call("/v3/kv/txn", &write).await?;
        let held = decoded(&written["responses"][0]["response_range"]["kvs"][0]["value"]);
        // A member may have executed the request without an answer before another one was asked.
        if written["succeeded"] == true || held == holder {
            let epoch = u64::try_from(version.saturating_add(1)).unwrap_or_default();
            return Ok(Asked::Granted(Claim { holder: holder.to_owned(), epoch, id, since }));
        }
        let claim = Claim { holder: holder.to_owned(), epoch: 0, id, since };
        // Without the release, the lease would expire.
        let _ = self.release(&claim).await;
        Ok(Asked::Held(held))
    }

    pub(super) async fn renew(&mut self, claim: &Claim) -> Result<bool, String> {
        let kept = self.call("/v3/lease/keepalive", &json!({ "ID": claim.id.to_string() })).await?;
        if kept.get("result").is_none() {
            return Err(self.named("an answer that is not understood"));
        }
        if number(&kept["result"]["TTL"]) <= 0 {
            return Ok(false);
        }
        // The key may have been deleted although the lease exists.
        let ours = json!({
            "key": encoded(&self.plan.key), "target": "VALUE", "result": "EQUAL", "value": encoded(&claim.holder),
        });
        let there = self.call("/v3/kv/txn", &json!({ "compare": [ours] })).await?;
        Ok(there["succeeded"] == true)
    }

    pub(super) async fn release(&mut self, claim: &Claim) -> Result<(), String> {
        self.call("/v3/lease/revoke", &json!({ "ID": claim.id.to_string() })).await.map(drop)
    }

    pub(super) async fn look(&mut self) -> Result<(), String> {
        self.call("/v3/kv/range", &json!({ "key": encoded(&self.plan.key) })).await.map(drop)
    }

    pub(super) async fn get(&mut self, key: &str) -> Result<Option<String>, String> {
        let found = self.call("/v3/kv/range", &json!({ "key": encoded(key) })).await?;
        let there = &found["kvs"][0];
        Ok((!there.is_null()).then(|| decoded(&there["value"])))
    }

    pub(super) async fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
        let put = json!({ "key": encoded(key), "value": encoded(value) });
        self.call("/v3/kv/put", &put).await.map(drop)
    }

    /// Sends a request to one member after the other until one answers.
    async fn call(&mut self, path: &str, body: &Value) -> Result<Value, String> {
        let mut last = String::new();
        let mut is_token_fresh = false;
        let mut members = self.plan.addresses.len();
        while members > 0 {
            match self.ask(path, body).await {
                Ok(answer) => return Ok(answer),
                Err(Refusal { kind: RefusalKind::Token, .. }) if !is_token_fresh => {
                    (self.token, is_token_fresh) = (None, true);
                }
                Err(Refusal { why, kind: RefusalKind::Elsewhere }) => {
                    last = self.named(why);
                    self.at = (self.at + 1) % self.plan.addresses.len();
                    members -= 1;
                }
                Err(Refusal { why, .. }) => {
                    self.token = None;
                    return Err(self.named(why));
                }
            }
        }
        Err(last)
    }

    async fn ask(&mut self, path: &str, body: &Value) -> Result<Value, Refusal> {
        if let (None, Some(name), Some(place)) = (&self.token, &self.plan.username, &self.plan.password) {
            let lasting = |why: String| Refusal { why, kind: RefusalKind::Lasting };
            let password = String::from_utf8(password(place).map_err(lasting)?)
                .map_err(|_| lasting("the password is no UTF-8".to_owned()))?;
            let who = json!({ "name": name, "password": password });
            let answer = self.post("/v3/auth/authenticate", &who).await?;
            self.token = answer["token"].as_str().map(str::to_owned);
        }
        self.post(path, body).await
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, Refusal> {
        let scheme = if self.plan.tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}{path}", self.address());
        let token = self.token.as_deref().map(|token| ("authorization", token));
        let reply =
            self.http.send(&Method::POST, &url, token.as_slice(), Some(body.to_string().into_bytes()));
        let reply = reply.await.map_err(|fault| {
            let kind = if fault.lasting { RefusalKind::Lasting } else { RefusalKind::Elsewhere };
            Refusal { why: fault.message, kind }
        })?;
        let said = serde_json::from_slice::<Value>(&reply.body);
        let kind = match reply.status {
            StatusCode::OK => {
                let wrong = |cause| Refusal { why: format!("{path}: {cause}"), kind: RefusalKind::Elsewhere };
                return said.map_err(wrong);
            }
            StatusCode::UNAUTHORIZED => RefusalKind::Token,
            status if status.is_server_error() => RefusalKind::Elsewhere,
            _ => RefusalKind::Lasting,
        };
        let said =
            said.ok().and_then(|said| Some(said.get("message").or(said.get("error"))?.as_str()?.to_owned()));
        let said = said.unwrap_or_else(|| String::from_utf8_lossy(&reply.body).into_owned());
        let said: String = said.chars().filter(|c| !c.is_control()).take(MESSAGE_CHARS_MAX).collect();
        Err(Refusal { why: format!("{path}: {}: {said}", reply.status), kind })
    }

    fn address(&self) -> String {
        self.plan.addresses.get(self.at).map(ToString::to_string).unwrap_or_default()
    }

    fn named(&self, what: impl std::fmt::Display) -> String {
        format!("etcd {}: {what}", self.address())
    }
}

/// Encodes a key or value: bytes are base64 in the JSON gateway.
fn encoded(text: &str) -> String {
    STANDARD.encode(text)
}

fn decoded(value: &Value) -> String {
    let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Parses a 64-bit number, which is a string in the JSON gateway, and absent if it is 0.
fn number(value: &Value) -> i64 {
    value.as_i64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_default()
}

impl std::fmt::Debug for Etcd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Etcd").field("addresses", &self.plan.addresses).finish_non_exhaustive()
    }
}
