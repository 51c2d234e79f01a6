//! Tests of Cedar policies, for clients and operators.

use std::path::Path;
use std::process::{Command, Output};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use weir_e2e::Weir;
use weir_testkit::{RawClient, TempDir};

use crate::access::{ISSUER, Issuer, bearer};
use crate::config;
use crate::tokens::{FORM, Secrets};

/// An area with policies in a file, and users with the password "sesame".
struct Site {
    weir: Weir,
    root: TempDir,
    beside: TempDir,
}

impl Site {
    fn start(access: &str, policies: &str) -> Self {
        let (root, beside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        std::fs::write(beside.path().join("data.cedar"), policies).unwrap();
        let hash = bcrypt::hash("sesame", 4).unwrap();
        std::fs::write(beside.path().join("htpasswd"), format!("ada:{hash}\nbob:{hash}\n")).unwrap();
        for name in ["home/ada/a", "home/bob/b", "raw/r", "x"] {
            let file = root.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "content").unwrap();
        }
        let weir = Weir::start(&area(root.path(), beside.path(), access));
        Self { weir, root, beside }
    }

    fn policies(&self, text: &str) {
        std::fs::write(self.beside.path().join("data.cedar"), text).unwrap();
    }

    fn config(&self, access: &str) -> String {
        area(self.root.path(), self.beside.path(), access)
    }

    /// Returns the status of a request with these credentials.
    fn ask(&self, who: &str, method: &str, path: &str) -> u16 {
        let headers: Vec<(&str, &str)> = if who.is_empty() { vec![] } else { vec![("Authorization", who)] };
        let mut client = self.weir.client();
        client.send(crate::message(method, path, &headers, b""));
        if method == "HEAD" { client.response_to_head().status } else { client.final_response().status }
    }
}

fn area(root: &Path, beside: &Path, access: &str) -> String {
    let more = format!(
        "htpasswd = {:?}\n[storage-area.data.access]\ncedar = {:?}\n{access}",
        beside.join("htpasswd"),
        beside.join("data.cedar")
    );
    config(root, "", &more)
}

fn password(user: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:sesame")))
}

const HOMES: &str = "@id(\"home of ada\")\n\
    permit(principal == User::\"ada\", action, resource in Directory::\"/home/ada\");\n\
    @id(\"raw stays\")\n\
    forbid(principal, action in [Action::\"write\", Action::\"delete\"], resource in Directory::\"/raw\");\n";

#[test]
fn a_permit_permits_and_a_forbid_forbids_whatever_else_permits() {
    let site = Site::start(
        "[[storage-area.data.access.policy]]\ndescription = \"bob\"\neffect = \"permit\"\nactions = \"all\"\n\
         principals = { type = \"user\", name = \"bob\" }\n",
        HOMES,
    );
    let (ada, bob) = (password("ada"), password("bob"));
    assert_eq!([site.ask(&ada, "GET", "/home/ada/a"), site.ask(&ada, "GET", "/home/bob/b")], [200, 403]);
    assert_eq!([site.ask("", "GET", "/home/ada/a"), site.ask("", "HEAD", "/home/ada/a")], [401, 401]);
    assert_eq!([site.ask(&ada, "PUT", "/home/ada/new"), site.ask(&ada, "PUT", "/home/new")], [201, 403]);
    assert_eq!([site.ask(&bob, "GET", "/raw/r"), site.ask(&bob, "PUT", "/raw/r")], [200, 403]);
    // Members of a directory are checked before the directory is deleted.
    assert_eq!([site.ask(&bob, "DELETE", "/raw/r"), site.ask(&bob, "DELETE", "/raw/")], [403, 403]);
    assert_eq!(site.ask(&bob, "DELETE", "/home/bob/"), 204);
    let moved = |from: &str, to: &str| {
        let mut client = site.weir.client();
        client.send(crate::message("MOVE", from, &[("Authorization", &bob), ("Destination", to)], b""));
        client.final_response().status
    };
    assert_eq!([moved("/raw", "/cooked"), moved("/x", "/raw/x"), moved("/x", "/y")], [403, 403, 201]);
    assert!(site.root.path().join("raw/r").exists());
}

#[test]
fn groups_of_tokens_and_the_clients_address_count() {
    let issuer = Issuer::new();
    let site = Site::start(
        &issuer.config(),
        &format!(
            "permit(principal in Group::\"{ISSUER}#/staff\", action in Action::\"read\", resource)\n\
             when {{ context has client && context.client.isLoopback() && context.method == \"GET\" \
             && context.now > datetime(\"2020-01-01\") }};"
        ),
    );
    let token = |groups: Value| bearer(&issuer.token(&json!({ "wlcg.groups": groups })));
    assert_eq!(site.ask(&token(json!(["/staff"])), "GET", "/x"), 200);
    assert_eq!(site.ask(&token(json!(["/staff"])), "HEAD", "/x"), 403);
    assert_eq!(site.ask(&token(json!(["/guests"])), "GET", "/x"), 403);
    // Neither the switches nor the policies of the config name the issuer, but a token may help.
    let mut client = site.weir.client();
    client.send(crate::message("GET", "/x", &[], b""));
    let refused = client.final_response();
    let asked: Vec<_> =
        refused.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("www-authenticate")).collect();
    assert!(refused.status == 401 && asked.iter().any(|(_, value)| value.starts_with("Bearer")), "{asked:?}");
}

/// A permission for all clients is cached with the open file; one that depends on the client's address is
/// not.
#[test]
fn anonymous_clients_are_not_all_one() {
    let (root, beside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    std::fs::write(root.path().join("x"), "content").unwrap();
    std::fs::write(
        beside.path().join("data.cedar"),
        "permit(principal, action, resource)\n\
         when { context has client && context.client.isInRange(ip(\"192.0.2.0/24\")) };",
    )
    .unwrap();
    let text = area(root.path(), beside.path(), "").replace("htpasswd =", "# htpasswd =");
    let weir = Weir::start(&text.replace(
        "storage = \"data\"\n",
        "storage = \"data\"\nproxy-protocol = { from = \"127.0.0.0/8\" }\n",
    ));
    let ask = |from: &str| {
        let mut client = weir.client();
        client.send(format!("PROXY TCP4 {from} 127.0.0.1 1000 80\r\n"));
        client.send(crate::message("GET", "/x", &[], b""));
        client.response().status
    };
    let told = ["192.0.2.1", "198.51.100.1", "192.0.2.1", "198.51.100.1"].map(ask);
    assert_eq!(told, [200, 403, 200, 403]);
}

#[test]
fn whom_a_listed_proxy_names_is_the_client_that_is_judged() {
    let (root, beside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    std::fs::write(root.path().join("x"), "content").unwrap();
    std::fs::write(
        beside.path().join("data.cedar"),
        "permit(principal, action, resource)\n\
         when { context has client && context.client.isInRange(ip(\"192.0.2.0/24\")) };",
    )
    .unwrap();
    let text = area(root.path(), beside.path(), "").replace("htpasswd =", "# htpasswd =");
    let weir = Weir::start(
        &text
            .replace("storage = \"data\"\n", "storage = \"data\"\nforwarded = { trusted = \"127.0.0.1\" }\n"),
    );
    let ask = |from: [u8; 4], forwarded: &str| {
        let mut client = RawClient::connect_from(from.into(), weir.addr("web"));
        client.send(crate::message("GET", "/x", &[("Forwarded", forwarded)], b""));
        client.response().status
    };
    let (proxy, stranger) = ([127, 0, 0, 1], [127, 0, 0, 2]);
    assert_eq!(ask(proxy, "for=192.0.2.7"), 200);
    assert_eq!(ask(proxy, "for=\"192.0.2.7:4711\";proto=https"), 200);
    // The first address comes from the client and is not trusted.
    assert_eq!(ask(proxy, "for=192.0.2.7, for=198.51.100.1"), 403);
    assert_eq!(ask(proxy, "for=_hidden"), 403);
    assert_eq!(ask(stranger, "for=192.0.2.7"), 403);
}

#[test]
fn a_reload_reads_policies_again_and_wrong_ones_change_nothing() {
    let mut site = Site::start("", HOMES);
    let ada = password("ada");
    assert_eq!([site.ask(&ada, "GET", "/home/ada/a"), site.ask(&ada, "GET", "/x")], [200, 403]);
    site.policies("permit(principal, action, resource == Path::\"/x\");");
    assert_eq!(site.ask(&ada, "GET", "/x"), 403, "not yet");
    let config = site.config("");
    site.weir.reload(&config);
    assert_eq!([site.ask(&ada, "GET", "/home/ada/a"), site.ask(&ada, "GET", "/x")], [403, 200]);
    site.policies("permit(principal, action, resource) when { principal.nobody };");
    let reply = site.weir.command(&json!("reload"));
    assert_eq!(reply["error"]["code"], "bad-config", "{reply}");
    assert!(reply.to_string().contains("nobody"), "{reply}");
    assert_eq!([site.ask(&ada, "GET", "/home/ada/a"), site.ask(&ada, "GET", "/x")], [403, 200]);
    std::fs::remove_file(site.beside.path().join("data.cedar")).unwrap();
    assert_eq!(site.weir.command(&json!("reload"))["error"]["code"], "bad-config");
    assert_eq!(site.ask(&ada, "GET", "/x"), 200);
}

fn weir(arguments: &[&str], config: &Path) -> Output {
    Command::new(weir_e2e::program()).args(arguments).arg(config).output().unwrap()
}

#[test]
fn explain_names_the_policy_that_decided() {
    let (root, beside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    std::fs::create_dir(beside.path().join("policies")).unwrap();
    std::fs::write(beside.path().join("policies/b.cedar"), HOMES).unwrap();
    std::fs::write(
        beside.path().join("policies/a.cedar"),
        "forbid(principal, action, resource) unless { context has client && context.client.isInRange(ip(\"10.0.0.0/8\")) };",
    )
    .unwrap();
    std::fs::write(beside.path().join("policies/.c.cedar"), "no policy at all").unwrap();
    let file = beside.path().join("weir.toml");
    let users = beside.path().join("htpasswd");
    std::fs::write(&users, format!("ada:{}\n", bcrypt::hash("sesame", 4).unwrap())).unwrap();
    let policies = beside.path().join("policies");
    let area = format!("htpasswd = {users:?}\n[storage-area.data.access]\ncedar = {policies:?}\n");
    std::fs::write(&file, config(root.path(), "", &area)).unwrap();
    let told = |from: &str, method: &str, path: &str| {
        let output = weir(
            &["storage", "explain", "--as", "user:ada", "--from", from, method, path, "--config"],
            &file,
        );
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text.replace(&beside.path().display().to_string(), "DIR"))
    };
    let (code, text) = told("10.1.2.3", "PUT", "/home/ada/x");
    assert!(
        code == Some(0)
            && text.contains("allowed: Cedar policy 'home of ada' (DIR/policies/b.cedar:1) permits it"),
        "{text}"
    );
    let (code, text) = told("192.0.2.1", "PUT", "/home/ada/x");
    assert!(
        code == Some(1) && text.contains("denied: the Cedar policy at DIR/policies/a.cedar:1 forbids it"),
        "{text}"
    );
    let (code, text) = told("10.1.2.3", "DELETE", "/raw/x");
    assert!(
        code == Some(1) && text.contains("Cedar policy 'raw stays' (DIR/policies/b.cedar:3) forbids it"),
        "{text}"
    );
    let (code, text) = told("10.1.2.3", "GET", "/y");
    assert!(code == Some(1) && text.contains("none of 3 Cedar policies applies"), "{text}");
}

#[test]
fn check_points_at_what_is_wrong_in_a_file_of_policies() {
    let (root, beside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let file = beside.path().join("weir.toml");
    let policies = beside.path().join("data.cedar");
    let access = format!("[storage-area.data.access]\ncedar = {policies:?}\n");
    std::fs::write(&file, config(root.path(), "", &access)).unwrap();
    let told = |text: Option<&str>| {
        match text {
            Some(text) => std::fs::write(&policies, text).unwrap(),
            None => std::fs::remove_file(&policies).unwrap(),
        }
        let output = weir(&["check", "--no-ports"], &file);
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        (output.status.code(), text.replace(&beside.path().display().to_string(), "DIR"))
    };
    let wrong = "permit(principal, action, resource);\n\npermit(principal is User, action, resource)\nwhen { principal.grops.contains(\"x\") };\n";
    let (code, text) = told(Some(wrong));
    assert!(
        code == Some(1)
            && text.contains("storage area data: cedar: attribute `grops`")
            && text.contains("DIR/data.cedar:4:8")
            && text.contains("4 | when { principal.grops.contains(\"x\") };")
            && text.contains("^^^^^^^^^^^^^^^"),
        "{text}"
    );
    let (code, text) = told(Some("permit(principal, action, resource"));
    assert!(code == Some(1) && text.contains("DIR/data.cedar:1:"), "{text}");
    let never = "permit(principal is Anonymous, action, resource) when { principal is User };";
    let (code, text) = told(Some(never));
    assert!(code == Some(0) && text.contains("warning") && text.contains("DIR/data.cedar:1:1"), "{text}");
    let (code, text) = told(None);
    assert!(code == Some(1) && text.contains("data: cedar: DIR/data.cedar: No such file"), "{text}");
    std::fs::create_dir(&policies).unwrap();
    let output = weir(&["check", "--no-ports"], &file);
    assert!(String::from_utf8(output.stderr).unwrap().contains("no file *.cedar is in it"));
}

#[test]
fn an_own_token_says_no_more_than_policies_prove() {
    let secrets = Secrets::new();
    let endpoint = format!(
        "[token-endpoint.own]\nissuer = \"https://storage.example.org\"\nalgorithm = \"HS256\"\nkey = {:?}\n",
        secrets.file("secret")
    );
    let mut site = Site::start("", HOMES);
    site.policies(&format!("{HOMES}forbid(principal, action, resource in Directory::\"/home/ada/diary\");"));
    let config = site.config(&endpoint).replace("htpasswd =", "token-endpoint = \"own\"\nhtpasswd =");
    site.weir.reload(&config);
    let ada = password("ada");
    let issue = |scope: &str| {
        let body = format!("grant_type=client_credentials&scope={scope}");
        let headers = [("Authorization", ada.as_str()), FORM];
        let mut client = site.weir.client();
        client.send(crate::message("POST", "/oauth/token", &headers, body.as_bytes()));
        let answer: Value = serde_json::from_slice(&client.final_response().body).unwrap();
        answer
    };
    let whole = issue("storage.read:/home/ada");
    assert_eq!(whole["error"], "invalid_scope", "{whole}");
    let part = issue("storage.read:/home/ada/letters%20storage.read:/home/ada");
    assert_eq!(part["scope"], "storage.read:/home/ada/letters", "{part}");
    let token = bearer(part["access_token"].as_str().unwrap());
    assert_eq!(site.ask(&token, "GET", "/home/ada/letters/x"), 404);
    assert_eq!(site.ask(&token, "GET", "/home/ada/a"), 403);
}
